// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.idemkey.Bytes;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.Idempotency;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore.Completion;
import org.idemkey.Lease;
import org.idemkey.Scope;
import org.idemkey.StoredResponse;
import org.idemkey.StoredResponse.Header;
import org.idemkey.UnknownOutcome;
import org.idemkey.UnknownOutcome.Finding;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Lines 37 to 39: the engine's choices for an owner that fell silent, over the table. */
class UnknownOutcomeTest {

    private static final Fingerprint REQUEST = Fingerprint.of("a request");
    private static final StoredResponse ANSWER =
            StoredResponse.of(201, List.of(new Header("Location", "/payments/1")), Bytes.utf8("done"));

    @RegisterExtension
    static final TestDatabase database = new TestDatabase();

    private final PostgresLeaseStore store = PostgresLeaseStore.create(database.pool());
    private final IdempotencyKey key =
            new IdempotencyKey(Scope.ANONYMOUS, UUID.randomUUID().toString());

    @AfterEach
    void close() {
        store.close();
    }

    private Idempotency choosing(UnknownOutcome choice) {
        return Idempotency.builder(store)
                .lease(Duration.ofHours(1))
                .unknownOutcome(choice)
                .build();
    }

    /** A claim whose owner will give no more sign of life. */
    private Lease silentOwner() {
        Lease lease = acquired(choosing(UnknownOutcome.reject()).claim(key, REQUEST));
        database.elapse(Duration.ofHours(1));
        return lease;
    }

    private static Lease acquired(Claim claim) {
        assertThat(claim).isInstanceOf(Claim.Acquired.class);
        return ((Claim.Acquired) claim).lease();
    }

    @Test
    void rejectRunsNothingAgain() {
        silentOwner();
        Idempotency rejecting = choosing(UnknownOutcome.reject());

        assertThat(rejecting.claim(key, REQUEST)).isInstanceOf(Claim.OutcomeUnknown.class);
        assertThat(rejecting.claim(key, REQUEST)).isInstanceOf(Claim.OutcomeUnknown.class);
        assertThat(rejecting.claim(key, Fingerprint.of("another"))).isEqualTo(new Claim.Mismatched());
    }

    @Test
    void rerunRunsOnceMoreAndTheSilentOwnerIsSuperseded() throws Exception {
        Lease silent = silentOwner();
        Idempotency rerunning = choosing(UnknownOutcome.rerun());
        ExecutorService threads = Executors.newFixedThreadPool(16);
        List<Claim> claims = new ArrayList<>();
        try {
            CyclicBarrier start = new CyclicBarrier(16);
            List<Future<Claim>> futures = new ArrayList<>();
            for (int i = 0; i < 16; i++) {
                futures.add(threads.submit(() -> {
                    start.await();
                    return rerunning.claim(key, REQUEST);
                }));
            }
            for (Future<Claim> future : futures) {
                claims.add(future.get());
            }
        } finally {
            threads.shutdownNow();
        }

        List<Claim> winners =
                claims.stream().filter(Claim.Acquired.class::isInstance).toList();
        assertThat(winners).hasSize(1);
        assertThat(claims.stream().filter(Claim.InProgress.class::isInstance)).hasSize(15);
        Lease second = acquired(winners.get(0));
        assertThat(second.attempt()).isEqualTo(2);
        assertThat(store.complete(silent, ANSWER)).isEqualTo(Completion.LOST);
        assertThat(store.release(silent)).isFalse();
        rerunning.finish(second, ANSWER);
        assertThat(rerunning.claim(key, REQUEST)).isEqualTo(new Claim.Completed(ANSWER));
    }

    @Test
    void rerunRunsNothingWhoseEffectIsConfirmed() throws Exception {
        Lease silent = silentOwner();
        confirm(silent);

        assertThat(choosing(UnknownOutcome.rerun()).claim(key, REQUEST))
                .isInstanceOfSatisfying(
                        Claim.OutcomeUnknown.class,
                        claim -> assertThat(claim.effectConfirmed()).isTrue());
    }

    private static void confirm(Lease lease) throws Exception {
        try (Connection business = database.connect()) {
            business.setAutoCommit(false);
            lease.confirm(business);
            business.commit();
        }
    }

    @Test
    void whatTheBooksTellIsRecordedAndReplayed() {
        Lease silent = silentOwner();
        AtomicInteger asked = new AtomicInteger();
        Idempotency reconciling = choosing(UnknownOutcome.reconcile(unknown -> {
            asked.incrementAndGet();
            assertThat(unknown.stale().token()).isEqualTo(silent.token());
            return Finding.executed(ANSWER);
        }));

        assertThat(reconciling.claim(key, REQUEST)).isEqualTo(new Claim.Completed(ANSWER));
        assertThat(reconciling.claim(key, REQUEST)).isEqualTo(new Claim.Completed(ANSWER));

        assertThat(asked).hasValue(1);
        assertThat(choosing(UnknownOutcome.reject()).claim(key, REQUEST)).isEqualTo(new Claim.Completed(ANSWER));
        assertThat(store.complete(silent, ANSWER)).isEqualTo(Completion.LOST);
    }

    @Test
    void whatTheBooksDenyRunsAgain() {
        Lease silent = silentOwner();

        Lease second = acquired(choosing(UnknownOutcome.reconcile(unknown -> Finding.notExecuted()))
                .claim(key, REQUEST));

        assertThat(second.attempt()).isEqualTo(2);
        assertThat(store.complete(silent, ANSWER)).isEqualTo(Completion.LOST);
        assertThat(store.complete(second, ANSWER)).isEqualTo(Completion.RECORDED);
    }

    // Books that contradict the mark in the database don't win.
    @Test
    void whatIsConfirmedRunsNotAgainWhateverTheBooksSay() throws Exception {
        confirm(silentOwner());

        assertThat(choosing(UnknownOutcome.reconcile(unknown -> {
                            assertThat(unknown.effectConfirmed()).isTrue();
                            return Finding.notExecuted();
                        }))
                        .claim(key, REQUEST))
                .isInstanceOf(Claim.OutcomeUnknown.class);
    }

    @Test
    void whatTheBooksDoNotKnowStaysUnknown() {
        silentOwner();

        assertThat(choosing(UnknownOutcome.reconcile(unknown -> Finding.stillUnknown()))
                        .claim(key, REQUEST))
                .isInstanceOf(Claim.OutcomeUnknown.class);
        assertThat(choosing(UnknownOutcome.reconcile(unknown -> {
                            throw new IllegalStateException("the books are closed");
                        }))
                        .claim(key, REQUEST))
                .isInstanceOf(Claim.OutcomeUnknown.class);
    }

    // The owner was only slow: it completes while the books are being read.
    @Test
    void anOwnerThatIsFasterThanTheBooksKeepsItsAnswer() {
        Lease slow = silentOwner();
        StoredResponse owners = StoredResponse.of(200, List.of(), Bytes.utf8("the owner's"));

        assertThat(choosing(UnknownOutcome.reconcile(unknown -> {
                            assertThat(store.complete(slow, owners)).isEqualTo(Completion.RECORDED);
                            return Finding.executed(ANSWER);
                        }))
                        .claim(key, REQUEST))
                .isEqualTo(new Claim.Completed(owners));
    }
}
