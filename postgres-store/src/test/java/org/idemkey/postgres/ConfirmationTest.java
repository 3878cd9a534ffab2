// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariConfig;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.Lease;
import org.idemkey.Scope;
import org.idemkey.Terms;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Line 39: a business transaction and a takeover, in both orders, while the one or the other is still open. */
class ConfirmationTest {

    private static final Fingerprint REQUEST = Fingerprint.of("a request");
    private static final Terms TERMS = new Terms(Duration.ofHours(1), Duration.ofHours(24));

    @RegisterExtension
    static final TestDatabase database = new TestDatabase();

    private final IdempotencyKey key =
            new IdempotencyKey(Scope.ANONYMOUS, UUID.randomUUID().toString());
    private final PostgresLeaseStore store = PostgresLeaseStore.builder(database.pool())
            .lockTimeout(Duration.ofMillis(20))
            .build();
    private Connection business;

    @BeforeEach
    void begin() throws Exception {
        business = database.connect();
        business.setAutoCommit(false);
    }

    @AfterEach
    void close() throws Exception {
        business.close();
        store.close();
    }

    private Lease acquire() {
        return ((Claim.Acquired) store.claim(key, REQUEST, TERMS)).lease();
    }

    // The transaction is still open when the duplicates are answered, so nobody can have waited for it.
    @Test
    void aDuplicateIsInProgressWhileTheTransactionIsOpen() throws Exception {
        acquire().confirm(business);

        assertThat(store.claim(key, REQUEST, TERMS))
                .isInstanceOfSatisfying(
                        Claim.InProgress.class,
                        claim -> assertThat(claim.remaining()).isPositive());
        assertThat(store.claim(key, Fingerprint.of("another"), TERMS)).isEqualTo(new Claim.Mismatched());
    }

    // Its row is locked, so it isn't renewed and may lapse: but its owner is at it, and everybody can know.
    @Test
    void aDuplicateIsInProgressEvenWhenTheLeaseLapsesMeanwhile() throws Exception {
        Lease lease = acquire();
        database.elapse(TERMS.lease());
        Claim.OutcomeUnknown unknown = (Claim.OutcomeUnknown) store.claim(key, REQUEST, TERMS);

        lease.confirm(business);

        assertThat(store.claim(key, REQUEST, TERMS)).isEqualTo(new Claim.InProgress(Duration.ZERO));
        assertThat(store.takeOver(unknown.stale(), REQUEST, TERMS)).isEqualTo(new Claim.InProgress(Duration.ZERO));
        business.commit();
        assertThat(store.claim(key, REQUEST, TERMS))
                .isInstanceOfSatisfying(
                        Claim.OutcomeUnknown.class,
                        claim -> assertThat(claim.effectConfirmed()).isTrue());
        assertThat(store.takeOver(unknown.stale(), REQUEST, TERMS)).isInstanceOf(Claim.OutcomeUnknown.class);
    }

    @Test
    void aTransactionThatRollsBackLeavesNoMark() throws Exception {
        Lease lease = acquire();
        database.elapse(TERMS.lease());
        lease.confirm(business);
        business.rollback();

        Claim.OutcomeUnknown unknown = (Claim.OutcomeUnknown) store.claim(key, REQUEST, TERMS);

        assertThat(unknown.effectConfirmed()).isFalse();
        assertThat(store.takeOver(unknown.stale(), REQUEST, TERMS)).isInstanceOf(Claim.Acquired.class);
    }

    @Test
    void aTakeoverThatWaitsForTheTransactionSeesItsMark() throws Exception {
        Lease lease = acquire();
        database.elapse(TERMS.lease());
        try (PostgresLeaseStore patient = PostgresLeaseStore.builder(database.pool())
                .lockTimeout(Duration.ofMinutes(1))
                .timeout(Duration.ofMinutes(2))
                .build()) {
            lease.confirm(business);
            CompletableFuture<Claim> takeover =
                    CompletableFuture.supplyAsync(() -> patient.takeOver(lease, REQUEST, TERMS));
            awaitWaiting();

            business.commit();

            assertThat(takeover.get())
                    .isInstanceOfSatisfying(
                            Claim.OutcomeUnknown.class,
                            claim -> assertThat(claim.effectConfirmed()).isTrue());
        }
    }

    // The takeover is done but not yet committed when the owner confirms.
    @Test
    void anOwnerThatConfirmsWhileItIsTakenOverHasLost() throws Exception {
        Lease lease = acquire();
        database.elapse(TERMS.lease());
        HikariConfig manual = new HikariConfig();
        manual.setAutoCommit(false);
        CountDownLatch taken = new CountDownLatch(1);
        CountDownLatch waiting = new CountDownLatch(1);
        ProbedDataSource wire = new ProbedDataSource(database.pool(1, manual), new ProbedDataSource.Probe() {
            @Override
            public void after(Connection connection, String sql) {
                taken.countDown();
                awaitQuietly(waiting);
            }
        });
        try (PostgresLeaseStore taker = PostgresLeaseStore.create(wire)) {
            CompletableFuture<Claim> takeover =
                    CompletableFuture.supplyAsync(() -> taker.takeOver(lease, REQUEST, TERMS));
            taken.await();
            CompletableFuture<Void> confirmation = CompletableFuture.runAsync(() -> {
                try {
                    lease.confirm(business);
                } catch (SQLException e) {
                    throw new IllegalStateException(e);
                }
            });
            awaitWaiting();
            waiting.countDown();

            assertThat(takeover.get()).isInstanceOf(Claim.Acquired.class);
            assertThatThrownBy(confirmation::get)
                    .isInstanceOf(ExecutionException.class)
                    .hasCauseInstanceOf(Lease.LostException.class)
                    .hasMessageNotContaining(key.value());
        }
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void awaitWaiting() {
        await().until(() -> database.query("SELECT EXISTS (SELECT FROM pg_stat_activity"
                        + " WHERE datname = current_database() AND wait_event_type = 'Lock')")
                .equals(true));
    }

    // In auto-commit mode the mark would be true before the effect is, or without it.
    @Test
    void confirmingOutsideATransactionIsRefused() throws Exception {
        Lease lease = acquire();
        business.setAutoCommit(true);

        assertThatThrownBy(() -> lease.confirm(business)).isInstanceOf(IllegalStateException.class);

        database.elapse(TERMS.lease());
        assertThat(store.claim(key, REQUEST, TERMS))
                .isInstanceOfSatisfying(
                        Claim.OutcomeUnknown.class,
                        claim -> assertThat(claim.effectConfirmed()).isFalse());
    }
}
