// SPDX-License-Identifier: Apache-2.0
package org.idemkey.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.TimeZone;
import java.util.UUID;
import org.idemkey.Claim;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore;
import org.idemkey.IdempotencyStore.Completion;
import org.idemkey.Lease;
import org.idemkey.Scope;
import org.idemkey.StoredResponse;
import org.idemkey.Terms;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What every store does, in ten sentences. Inherit it, say where the store is and how time passes for it, and each
 * sentence has its tests; a sentence that can't apply to a store is skipped with its reason.
 *
 * <ol>
 * <li>Of N concurrent claims of a free key, exactly one is acquired.
 * <li>Precedence: an expired row is free; another fingerprint is mismatched, even after a lapse; a response is completed;
 *     a live lease is in progress; a lapsed one is an unknown outcome, unless it certainly had no effect. A takeover is
 *     one compare-and-set on the lapsed claim, and never of a confirmed one.
 * <li>{@code complete} and {@code release} act for the current token on an unfinished row only; else they say so, and
 *     nothing changes.
 * <li>A replay is byte-exact, with header order and repeated headers kept.
 * <li>{@code release} frees the key at once, for any fingerprint.
 * <li>Retention counts from the claim; expiry is judged at look-up, never left to the clean-up; a purge takes no live
 *     row.
 * <li>Scopes never meet.
 * <li>The store owns the clock; only durations cross the interface.
 * <li>A claim whose commit was ambiguous and is tried again recognises its own token.
 * <li>A claim that loses a race to a row which is gone again when it looks simply claims anew.
 * </ol>
 */
public abstract class IdempotencyStoreContract extends StoreRaces {

    /** For the subclass. */
    protected IdempotencyStoreContract() {}

    // Sentence 2.

    @Test
    void aFreeKeyIsAcquiredForTheFirstTime() {
        IdempotencyKey key = newKey();

        Lease lease = acquire(key);

        assertThat(lease.key()).isEqualTo(key);
        assertThat(lease.attempt()).isEqualTo(1);
        assertThat(store().release(lease)).isTrue();
    }

    @Test
    void everyClaimHasItsOwnToken() {
        IdempotencyKey key = newKey();
        Lease first = acquire(key);
        store().release(first);

        Lease second = acquire(key);

        assertThat(second.token()).isNotEqualTo(first.token());
        assertThat(store().release(second)).isTrue();
    }

    @Test
    void aLiveLeaseIsInProgress() {
        IdempotencyKey key = newKey();
        Lease lease = acquire(key);

        assertThat(claim(key)).isInstanceOf(Claim.InProgress.class);
        assertThat(peer().claim(key, REQUEST, TERMS)).isInstanceOf(Claim.InProgress.class);
        assertThat(store().complete(lease, answer("done"))).isEqualTo(Completion.RECORDED);
    }

    @Test
    void aResponseIsCompletedForEveryInstance() {
        IdempotencyKey key = newKey();
        store().complete(acquire(key), answer("done"));

        assertThat(claim(key)).isEqualTo(new Claim.Completed(answer("done")));
        assertThat(peer().claim(key, REQUEST, TERMS)).isEqualTo(new Claim.Completed(answer("done")));
    }

    @Test
    void anotherFingerprintIsMismatchedInFlightAndChangesNothing() {
        IdempotencyKey key = newKey();
        Lease lease = acquire(key);

        assertThat(peer().claim(key, OTHER_REQUEST, TERMS)).isEqualTo(new Claim.Mismatched());
        assertThat(claim(key)).isInstanceOf(Claim.InProgress.class);
        assertThat(store().complete(lease, answer("done"))).isEqualTo(Completion.RECORDED);
    }

    @Test
    void anotherFingerprintIsMismatchedAfterCompletionAndChangesNothing() {
        IdempotencyKey key = newKey();
        store().complete(acquire(key), answer("done"));

        assertThat(peer().claim(key, OTHER_REQUEST, TERMS)).isEqualTo(new Claim.Mismatched());
        assertThat(claim(key)).isEqualTo(new Claim.Completed(answer("done")));
    }

    // Line 27: the row's expiry stays, too.
    @Test
    void aMismatchDoesNotProlongTheRow() {
        IdempotencyKey key = newKey();
        store().complete(acquire(key), answer("done"));
        elapse(Duration.ofHours(23));
        assertThat(peer().claim(key, OTHER_REQUEST, TERMS)).isEqualTo(new Claim.Mismatched());

        elapse(Duration.ofHours(1));

        assertThat(store().release(leaseOf(store().claim(key, OTHER_REQUEST, TERMS))))
                .isTrue();
    }

    // Sentence 3.

    @Test
    void whatIsCompletedIsNeitherCompletedAgainNorReleased() {
        IdempotencyKey key = newKey();
        Lease lease = acquire(key);
        store().complete(lease, answer("first"));

        assertThat(store().complete(lease, answer("second"))).isEqualTo(Completion.LOST);
        assertThat(store().release(lease)).isFalse();
        assertThat(claim(key)).isEqualTo(new Claim.Completed(answer("first")));
    }

    @Test
    void whatIsReleasedIsNeitherReleasedAgainNorCompleted() {
        IdempotencyKey key = newKey();
        Lease first = acquire(key);
        store().release(first);
        Lease second = acquire(key);

        assertThat(store().release(first)).isFalse();
        assertThat(store().complete(first, answer("first"))).isEqualTo(Completion.LOST);
        assertThat(claim(key)).isInstanceOf(Claim.InProgress.class);
        assertThat(store().complete(second, answer("second"))).isEqualTo(Completion.RECORDED);
        assertThat(claim(key)).isEqualTo(new Claim.Completed(answer("second")));
    }

    // Sentence 4.

    @ParameterizedTest
    @MethodSource("org.idemkey.conformance.Responses#all")
    void aReplayIsByteExact(StoredResponse response) {
        IdempotencyKey key = newKey();
        store().complete(acquire(key), response);

        assertThat(peer().claim(key, REQUEST, TERMS)).isEqualTo(new Claim.Completed(response));
    }

    // Sentence 5.

    @Test
    void aReleasedKeyIsFreeAtOnceForAnyFingerprint() {
        IdempotencyKey key = newKey();
        store().release(acquire(key));

        Lease other = leaseOf(peer().claim(key, OTHER_REQUEST, TERMS));

        assertThat(other.attempt()).isEqualTo(1);
        assertThat(peer().complete(other, answer("other"))).isEqualTo(Completion.RECORDED);
        assertThat(claim(key)).isEqualTo(new Claim.Mismatched());
    }

    // Sentence 6.

    @Test
    void anExpiredResponseIsForgottenThoughNobodyHasPurgedIt() {
        IdempotencyKey key = newKey();
        store().complete(acquire(key), answer("old"));
        elapse(TERMS.retention());

        Lease lease = leaseOf(store().claim(key, OTHER_REQUEST, TERMS));

        assertThat(lease.attempt()).isEqualTo(1);
        assertThat(peer().claim(key, OTHER_REQUEST, TERMS)).isInstanceOf(Claim.InProgress.class);
        assertThat(store().complete(lease, answer("new"))).isEqualTo(Completion.RECORDED);
        assertThat(peer().claim(key, OTHER_REQUEST, TERMS)).isEqualTo(new Claim.Completed(answer("new")));
    }

    @Test
    void retentionCountsFromTheClaim() {
        assumeClaimsAreVisible();
        IdempotencyKey key = newKey();
        Lease lease = acquire(key);
        elapse(Duration.ofHours(20));
        store().complete(lease, answer("done"));

        elapse(Duration.ofHours(3));
        assertThat(claim(key)).isEqualTo(new Claim.Completed(answer("done")));

        elapse(Duration.ofHours(1));
        assertThat(claim(key)).isInstanceOf(Claim.Acquired.class);
    }

    @Test
    void aPurgeTakesExpiredRowsOnlyAndNoMoreThanItsLimit() {
        elapse(TERMS.retention());
        purgeAll();
        for (int i = 0; i < 5; i++) {
            store().complete(acquire(newKey()), answer("old"));
        }
        elapse(TERMS.retention());
        IdempotencyKey completed = newKey();
        IdempotencyKey inFlight = newKey();
        store().complete(acquire(completed), answer("live"));
        Lease lease = acquire(inFlight);

        assertThat(store().purgeExpired(3)).isEqualTo(3);
        assertThat(store().purgeExpired(3)).isEqualTo(2);
        assertThat(store().purgeExpired(3)).isZero();

        assertThat(claim(completed)).isEqualTo(new Claim.Completed(answer("live")));
        assertThat(claim(inFlight)).isInstanceOf(Claim.InProgress.class);
        assertThat(store().complete(lease, answer("live"))).isEqualTo(Completion.RECORDED);
    }

    private void purgeAll() {
        while (store().purgeExpired(1000) > 0) {
            // Rows that other tests have left behind.
        }
    }

    // Sentence 7.

    @Test
    void scopesNeverMeet() {
        String value = UUID.randomUUID().toString();
        IdempotencyKey alices = new IdempotencyKey(Scope.caller("alice"), value);
        IdempotencyKey bobs = new IdempotencyKey(Scope.caller("bob"), value);
        IdempotencyKey anyones = new IdempotencyKey(Scope.ANONYMOUS, value);
        store().complete(acquire(alices), answer("alice's"));

        Lease bob = leaseOf(store().claim(bobs, OTHER_REQUEST, TERMS));
        Lease anyone = acquire(anyones);

        assertThat(store().complete(bob, answer("bob's"))).isEqualTo(Completion.RECORDED);
        assertThat(store().release(anyone)).isTrue();
        assertThat(claim(alices)).isEqualTo(new Claim.Completed(answer("alice's")));
        assertThat(store().claim(bobs, OTHER_REQUEST, TERMS)).isEqualTo(new Claim.Completed(answer("bob's")));
    }

    // Line 8, and line 67: whatever the characters mean to a store's language, they are a value.
    @ParameterizedTest
    @MethodSource("org.idemkey.conformance.Responses#trickyKeys")
    void keysAreComparedCharacterByCharacter(String one, String other) {
        Scope scope = new Scope("t:" + UUID.randomUUID());
        IdempotencyKey first = new IdempotencyKey(scope, one);
        IdempotencyKey second = new IdempotencyKey(scope, other);
        store().complete(acquire(first), answer("first"));

        store().complete(acquire(second), answer("second"));

        assertThat(claim(first)).isEqualTo(new Claim.Completed(answer("first")));
        assertThat(claim(second)).isEqualTo(new Claim.Completed(answer("second")));
    }

    // Sentence 8.

    @Test
    void whatIsLeftOfALeaseIsToldByTheStoresClock() {
        assumeClaimsAreVisible();
        IdempotencyKey key = newKey();
        acquire(key);
        elapse(Duration.ofMinutes(30));

        assertThat(claim(key))
                .isInstanceOfSatisfying(
                        Claim.InProgress.class,
                        claim ->
                                assertThat(claim.remaining()).isPositive().isLessThanOrEqualTo(Duration.ofMinutes(30)));
    }

    // Line 66.
    @Test
    void theProcesssTimeZoneChangesNothing() {
        TimeZone before = TimeZone.getDefault();
        IdempotencyKey key = newKey();
        Terms terms = new Terms(Duration.ofHours(1), Duration.ofHours(2));
        try {
            TimeZone.setDefault(TimeZone.getTimeZone("Pacific/Kiritimati"));
            Lease lease = leaseOf(store().claim(key, REQUEST, terms));
            TimeZone.setDefault(TimeZone.getTimeZone("Pacific/Pago_Pago"));
            assertThat(peer().claim(key, REQUEST, terms)).isInstanceOf(Claim.InProgress.class);
            assertThat(store().complete(lease, answer("done"))).isEqualTo(Completion.RECORDED);
            assertThat(peer().claim(key, REQUEST, terms)).isEqualTo(new Claim.Completed(answer("done")));
        } finally {
            TimeZone.setDefault(before);
        }
    }

    // Sentence 9.

    @Test
    void aClaimWhoseAnswerWasLostIsStillItsOwners() {
        IdempotencyStore flaky = storeThatLosesItsFirstAnswer();
        IdempotencyKey key = newKey();

        Lease lease = leaseOf(flaky.claim(key, REQUEST, TERMS));

        assertThat(lease.attempt()).isEqualTo(1);
        assertThat(claim(key)).isInstanceOf(Claim.InProgress.class);
        assertThat(flaky.complete(lease, answer("done"))).isEqualTo(Completion.RECORDED);
    }

    @Test
    void aTakeoverWhoseAnswerWasLostIsStillItsOwners() {
        IdempotencyKey key = newKey();
        Claim.OutcomeUnknown unknown = acquireAndLapse(key);

        Lease lease = leaseOf(storeThatLosesItsFirstAnswer().takeOver(unknown.stale(), REQUEST, TERMS));

        assertThat(lease.attempt()).isEqualTo(2);
        assertThat(store().complete(lease, answer("done"))).isEqualTo(Completion.RECORDED);
    }
}
