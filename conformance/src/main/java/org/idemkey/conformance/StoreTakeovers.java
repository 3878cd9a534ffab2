// SPDX-License-Identifier: Apache-2.0
package org.idemkey.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.sql.SQLException;
import java.time.Duration;
import org.idemkey.Claim;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore.Completion;
import org.idemkey.Lease;
import org.junit.jupiter.api.Test;

/** Sentences 2 and 3 for claims whose owner fell silent. */
abstract class StoreTakeovers extends StoreUnderTest {

    @Test
    void aLapsedClaimIsAnUnknownOutcomeForEverybody() {
        IdempotencyKey key = newKey();

        Claim.OutcomeUnknown unknown = acquireAndLapse(key);

        assertThat(unknown.effectConfirmed()).isFalse();
        assertThat(unknown.stale().key()).isEqualTo(key);
        assertThat(unknown.stale().attempt()).isEqualTo(1);
        assertThat(unknown(claim(key)).stale().token())
                .isEqualTo(unknown.stale().token());
        assertThat(unknown(peer().claim(key, REQUEST, TERMS)).stale().token())
                .isEqualTo(unknown.stale().token());
    }

    @Test
    void anotherFingerprintIsMismatchedEvenAfterALapse() {
        assumeClaimsAreVisible();
        IdempotencyKey key = newKey();
        acquire(key);
        elapse(TERMS.lease());

        assertThat(peer().claim(key, OTHER_REQUEST, TERMS)).isEqualTo(new Claim.Mismatched());
    }

    @Test
    void aTakeoverIsANewClaimOfItsOwn() {
        IdempotencyKey key = newKey();
        Claim.OutcomeUnknown unknown = acquireAndLapse(key);

        Lease taken = leaseOf(peer().takeOver(unknown.stale(), REQUEST, TERMS));

        assertThat(taken.key()).isEqualTo(key);
        assertThat(taken.token()).isNotEqualTo(unknown.stale().token());
        assertThat(taken.attempt()).isEqualTo(2);
        assertThat(claim(key)).isInstanceOf(Claim.InProgress.class);
        elapse(Duration.ofMinutes(59));
        assertThat(claim(key)).isInstanceOf(Claim.InProgress.class);
    }

    // Line 39.
    @Test
    void aSupersededOwnerCanNeitherCompleteNorRelease() {
        IdempotencyKey key = newKey();
        Claim.OutcomeUnknown unknown = acquireAndLapse(key);
        Lease taken = leaseOf(peer().takeOver(unknown.stale(), REQUEST, TERMS));

        assertThat(store().complete(unknown.stale(), answer("stale"))).isEqualTo(Completion.LOST);
        assertThat(store().release(unknown.stale())).isFalse();

        assertThat(claim(key)).isInstanceOf(Claim.InProgress.class);
        assertThat(peer().complete(taken, answer("taken"))).isEqualTo(Completion.RECORDED);
        assertThat(claim(key)).isEqualTo(new Claim.Completed(answer("taken")));
    }

    @Test
    void attemptsCountOn() {
        IdempotencyKey key = newKey();
        Claim.OutcomeUnknown unknown = acquireAndLapse(key);
        for (int attempt = 2; attempt <= 4; attempt++) {
            Lease taken = leaseOf(store().takeOver(unknown.stale(), REQUEST, TERMS));
            assertThat(taken.attempt()).isEqualTo(attempt);
            elapse(TERMS.lease());
            unknown = unknown(claim(key));
            assertThat(unknown.stale().attempt()).isEqualTo(attempt);
        }
    }

    @Test
    void aTakeoverIsRetainedFromItsOwnStart() {
        IdempotencyKey key = newKey();
        Claim.OutcomeUnknown unknown = acquireAndLapse(key);
        elapse(Duration.ofHours(20));
        Lease taken = leaseOf(store().takeOver(unknown.stale(), REQUEST, TERMS));
        store().complete(taken, answer("taken"));

        elapse(Duration.ofHours(23));

        assertThat(claim(key)).isEqualTo(new Claim.Completed(answer("taken")));
    }

    @Test
    void aLateOwnerMayStillCompleteWhatNobodyHasTaken() {
        IdempotencyKey key = newKey();
        Claim.OutcomeUnknown unknown = acquireAndLapse(key);

        assertThat(peer().complete(unknown.stale(), answer("late"))).isEqualTo(Completion.RECORDED);

        assertThat(claim(key)).isEqualTo(new Claim.Completed(answer("late")));
        assertThat(store().takeOver(unknown.stale(), REQUEST, TERMS)).isEqualTo(new Claim.Completed(answer("late")));
    }

    @Test
    void aLateOwnerMayStillReleaseWhatNobodyHasTaken() {
        IdempotencyKey key = newKey();
        Claim.OutcomeUnknown unknown = acquireAndLapse(key);

        assertThat(peer().release(unknown.stale())).isTrue();

        assertThat(leaseOf(store().takeOver(unknown.stale(), REQUEST, TERMS)).attempt())
                .isEqualTo(1);
    }

    @Test
    void aLiveClaimIsNotTakenOver() {
        assumeLapsesAre(Lapse.UNKNOWN, "nothing of this store is ever taken over");
        IdempotencyKey key = newKey();
        Lease lease = acquire(key);

        assertThat(peer().takeOver(lease, REQUEST, TERMS)).isInstanceOf(Claim.InProgress.class);

        assertThat(store().complete(lease, answer("done"))).isEqualTo(Completion.RECORDED);
    }

    @Test
    void onlyTheSameRequestTakesOver() {
        IdempotencyKey key = newKey();
        Claim.OutcomeUnknown unknown = acquireAndLapse(key);

        assertThat(peer().takeOver(unknown.stale(), OTHER_REQUEST, TERMS)).isEqualTo(new Claim.Mismatched());

        assertThat(leaseOf(peer().takeOver(unknown.stale(), REQUEST, TERMS)).attempt())
                .isEqualTo(2);
    }

    @Test
    void aTakeoverOfAnExpiredRowIsAFirstClaim() {
        IdempotencyKey key = newKey();
        Claim.OutcomeUnknown unknown = acquireAndLapse(key);
        elapse(TERMS.retention());

        Lease lease = leaseOf(store().takeOver(unknown.stale(), OTHER_REQUEST, TERMS));

        assertThat(lease.attempt()).isEqualTo(1);
        assertThat(store().complete(unknown.stale(), answer("stale"))).isEqualTo(Completion.LOST);
        assertThat(store().complete(lease, answer("new"))).isEqualTo(Completion.RECORDED);
    }

    @Test
    void anUnknownOutcomeExpiresLikeAnythingElse() {
        IdempotencyKey key = newKey();
        acquireAndLapse(key);
        elapse(TERMS.retention());

        assertThat(acquire(key).attempt()).isEqualTo(1);
    }

    @Test
    void aLapsedClaimThatLeftNothingBehindIsAcquired() {
        assumeLapsesAre(Lapse.ACQUIRED, "a lapsed claim of this store is not known to have left nothing behind");
        IdempotencyKey key = newKey();
        Lease first = acquire(key);
        elapse(TERMS.lease());

        Lease second = leaseOf(peer().claim(key, REQUEST, TERMS));

        assertThat(second.attempt()).isEqualTo(2);
        assertThat(second.token()).isNotEqualTo(first.token());
        assertThat(store().complete(first, answer("first"))).isEqualTo(Completion.LOST);
        assertThat(store().release(first)).isFalse();
        assertThat(peer().release(second)).isTrue();
    }

    // Line 39, and the mark of Lease.confirm.

    @Test
    void aConfirmedEffectIsNeverTakenOver() throws SQLException {
        assumeLapsesAre(Lapse.UNKNOWN, "no lapsed claim of this store has an unknown outcome");
        IdempotencyKey key = newKey();
        confirm(acquire(key));
        elapse(TERMS.lease());

        Claim.OutcomeUnknown unknown = unknown(peer().claim(key, REQUEST, TERMS));

        assertThat(unknown.effectConfirmed()).isTrue();
        assertThat(unknown(peer().takeOver(unknown.stale(), REQUEST, TERMS)).effectConfirmed())
                .isTrue();
        assertThat(peer().complete(unknown.stale(), answer("found in the books")))
                .isEqualTo(Completion.RECORDED);
        assertThat(claim(key)).isEqualTo(new Claim.Completed(answer("found in the books")));
    }

    @Test
    void aConfirmedClaimCompletesAsAnyOther() throws SQLException {
        IdempotencyKey key = newKey();
        Lease lease = acquire(key);
        confirm(lease);

        assertThat(claim(key)).isInstanceOf(Claim.InProgress.class);
        assertThat(store().complete(lease, answer("done"))).isEqualTo(Completion.RECORDED);
    }

    @Test
    void aLapsedClaimThatIsStillItsOwnersCanBeConfirmed() throws SQLException {
        Claim.OutcomeUnknown unknown = acquireAndLapse(newKey());

        confirm(unknown.stale());

        assertThat(unknown(claim(unknown.stale().key())).effectConfirmed()).isTrue();
    }

    @Test
    void aSupersededOwnerCannotConfirm() throws SQLException {
        IdempotencyKey key = newKey();
        Claim.OutcomeUnknown unknown = acquireAndLapse(key);
        confirm(acquire(newKey()));
        Lease taken = leaseOf(peer().takeOver(unknown.stale(), REQUEST, TERMS));

        assertThatExceptionOfType(Lease.LostException.class).isThrownBy(() -> confirm(unknown.stale()));

        elapse(TERMS.lease());
        assertThat(unknown(claim(key)).effectConfirmed()).isFalse();
        assertThat(unknown(claim(key)).stale().token()).isEqualTo(taken.token());
    }

    @Test
    void whatIsFinishedCannotBeConfirmed() throws SQLException {
        IdempotencyKey completed = newKey();
        Lease lease = acquire(completed);
        confirm(lease);
        store().complete(lease, answer("done"));
        assertThatExceptionOfType(Lease.LostException.class).isThrownBy(() -> confirm(lease));

        Lease released = acquire(newKey());
        store().release(released);
        assertThatExceptionOfType(Lease.LostException.class).isThrownBy(() -> confirm(released));
    }
}
