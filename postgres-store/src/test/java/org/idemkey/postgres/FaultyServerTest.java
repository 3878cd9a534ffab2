// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.idemkey.Bytes;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore.Completion;
import org.idemkey.IdempotencyStoreException;
import org.idemkey.Lease;
import org.idemkey.Scope;
import org.idemkey.StoredResponse;
import org.idemkey.Terms;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Line 42: a database that is there and doesn't serve, and wires that are cut. */
class FaultyServerTest {

    private static final Fingerprint REQUEST = Fingerprint.of("a request");
    private static final Terms TERMS = new Terms(Duration.ofHours(1), Duration.ofHours(24));
    private static final StoredResponse ANSWER = StoredResponse.of(200, List.of(), Bytes.utf8("done"));

    @RegisterExtension
    static final TestDatabase database = new TestDatabase();

    private final IdempotencyKey key =
            new IdempotencyKey(Scope.ANONYMOUS, UUID.randomUUID().toString());

    private Lease acquire(PostgresLeaseStore store) {
        return ((Claim.Acquired) store.claim(key, REQUEST, TERMS)).lease();
    }

    private void assertUnavailable(PostgresLeaseStore store) {
        assertThatThrownBy(() -> store.claim(key, REQUEST, TERMS))
                .isInstanceOf(IdempotencyStoreException.class)
                // Line 68.
                .satisfies(e -> assertThat(trace(e)).doesNotContain(key.value()));
    }

    private static String trace(Throwable e) {
        StringWriter text = new StringWriter();
        e.printStackTrace(new PrintWriter(text));
        return text.toString();
    }

    private void awaitRecorded(PostgresLeaseStore store) {
        await().ignoreExceptionsInstanceOf(IdempotencyStoreException.class)
                .until(() -> store.claim(key, REQUEST, TERMS).equals(new Claim.Completed(ANSWER)));
        await().until(() -> store.keeper().renewals().size() == 0);
    }

    @Test
    void anExhaustedPoolIsAStoreException() throws Exception {
        HikariConfig config = new HikariConfig();
        config.setConnectionTimeout(1000);
        HikariDataSource pool = database.pool(1, config);
        try (PostgresLeaseStore store = PostgresLeaseStore.create(pool)) {
            Lease lease;
            try (Connection taken = pool.getConnection()) {
                assertThat(taken.isClosed()).isFalse();
                assertUnavailable(store);
                assertThatThrownBy(() -> store.purgeExpired(1)).isInstanceOf(IdempotencyStoreException.class);
            }
            lease = acquire(store);
            try (Connection taken = pool.getConnection()) {
                assertThat(taken.isClosed()).isFalse();
                assertThat(store.complete(lease, ANSWER)).isEqualTo(Completion.DEFERRED);
            }
            awaitRecorded(store);
        }
    }

    @Test
    void aReadOnlyServerIsAway() {
        // Of one connection, so that none can be on its way into the pool when all of them are evicted.
        HikariDataSource pool = database.pool(1);
        try (PostgresLeaseStore store = PostgresLeaseStore.create(pool)) {
            Lease lease = acquire(store);
            readOnly(pool, true);
            try {
                IdempotencyKey other = new IdempotencyKey(Scope.ANONYMOUS, "other");
                assertThatThrownBy(() -> store.claim(other, REQUEST, TERMS))
                        .isInstanceOf(IdempotencyStoreException.class);
                assertUnavailable(store);
                assertThat(store.complete(lease, ANSWER)).isEqualTo(Completion.DEFERRED);
            } finally {
                readOnly(pool, false);
            }
            awaitRecorded(store);
        }
    }

    private static void readOnly(HikariDataSource pool, boolean readOnly) {
        try (Connection admin = database.connect();
                var statement = admin.createStatement()) {
            statement.execute("SET default_transaction_read_only = off");
            statement.execute("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = "
                    + readOnly + "', current_database()); END $$");
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
        pool.getHikariPoolMXBean().softEvictConnections();
    }

    // Nobody ends the silence but the store's own bound: the driver's socketTimeout is unset.
    @Test
    void aServerThatFallsSilentIsAStoreExceptionWithinTheTimeout() throws Exception {
        try (StallingProxy proxy = new StallingProxy(database.url())) {
            HikariDataSource pool = database.pool(2, proxied(proxy));
            try (PostgresLeaseStore store = PostgresLeaseStore.builder(pool)
                    .timeout(Duration.ofMillis(300))
                    .build()) {
                Lease lease = acquire(store);
                proxy.stall();

                assertUnavailable(store);
                assertThat(store.complete(lease, ANSWER)).isEqualTo(Completion.DEFERRED);

                proxy.resume();
                awaitRecorded(store);
            }
            pool.close();
        }
    }

    private static HikariConfig proxied(StallingProxy proxy) {
        HikariConfig config = new HikariConfig();
        config.setConnectionTimeout(1000);
        config.addDataSourceProperty("loginTimeout", "1");
        config.setJdbcUrl(proxy.url());
        return config;
    }

    // Sentence 9 has a limit: both tries are cut off, and the first of them did claim. Nobody will run for it, so the
    // key must not stay an unknown outcome.
    @Test
    void aClaimWhoseOwnerNeverHeardOfItIsFreed() {
        AtomicInteger cuts = new AtomicInteger(2);
        ProbedDataSource wire = cutting(cuts);
        try (PostgresLeaseStore store = PostgresLeaseStore.create(wire)) {
            assertUnavailable(store);

            await().until(() -> database.query("SELECT count(*) FROM idempotency_key WHERE key = ?", key.value())
                    .equals(0L));
            assertThat(acquire(store).attempt()).isEqualTo(1);
        }
    }

    // But what was taken over had an unknown outcome before, and keeps it.
    @Test
    void aTakeoverWhoseOwnerNeverHeardOfItIsNotFreed() {
        AtomicInteger cuts = new AtomicInteger();
        try (PostgresLeaseStore store = PostgresLeaseStore.create(cutting(cuts))) {
            Lease lease = acquire(store);
            database.elapse(TERMS.lease());
            cuts.set(2);

            assertThatThrownBy(() -> store.takeOver(lease, REQUEST, TERMS))
                    .isInstanceOf(IdempotencyStoreException.class);

            assertThat(store.keeper().writes().size()).isZero();
            database.elapse(TERMS.lease());
            assertThat(store.claim(key, REQUEST, TERMS))
                    .isInstanceOfSatisfying(
                            Claim.OutcomeUnknown.class,
                            claim -> assertThat(claim.stale().attempt()).isEqualTo(2));
        }
    }

    /** Cuts the wire after the first such statement, and before the second and any later one. */
    private static ProbedDataSource cutting(AtomicInteger cuts) {
        return new ProbedDataSource(database.pool(), new ProbedDataSource.Probe() {
            @Override
            public void before(Connection connection, String sql) throws SQLException {
                if (cuts.compareAndSet(1, 0)) {
                    throw ProbedDataSource.cut(connection);
                }
            }

            @Override
            public void after(Connection connection, String sql) throws SQLException {
                if (cuts.compareAndSet(2, 1)) {
                    throw ProbedDataSource.cut(connection);
                }
            }
        });
    }

    // The response is there, only the news of it got lost.
    @Test
    void aCompletionWhoseAnswerWasLostIsRecordedOnce() {
        AtomicInteger cuts = new AtomicInteger();
        try (PostgresLeaseStore store = PostgresLeaseStore.create(cutting(cuts))) {
            Lease lease = acquire(store);
            cuts.set(2);

            assertThat(store.complete(lease, ANSWER)).isEqualTo(Completion.DEFERRED);

            awaitRecorded(store);
        }
    }

    @Test
    void aReleaseThatCouldNotBeWrittenIsWrittenLater() {
        AtomicInteger cuts = new AtomicInteger();
        try (PostgresLeaseStore store = PostgresLeaseStore.create(cutting(cuts))) {
            Lease lease = acquire(store);
            cuts.set(1);

            assertThatThrownBy(() -> store.release(lease)).isInstanceOf(IdempotencyStoreException.class);

            await().until(() -> store.claim(key, Fingerprint.of("another"), TERMS) instanceof Claim.Acquired);
        }
    }

    @Test
    void whatDoesNotFitIntoMemoryIsRefused() {
        AtomicInteger cuts = new AtomicInteger();
        try (PostgresLeaseStore store =
                PostgresLeaseStore.builder(cutting(cuts)).deferredBytes(10_000).build()) {
            Lease lease = acquire(store);
            cuts.set(1);
            StoredResponse large = StoredResponse.of(200, List.of(), Bytes.wrap(new byte[10_000]));

            assertThatThrownBy(() -> store.complete(lease, large)).isInstanceOf(IdempotencyStoreException.class);

            assertThat(store.keeper().writes().size()).isZero();
            // Nobody keeps it alive, so that it becomes an unknown outcome.
            assertThat(store.keeper().renewals().size()).isZero();
        }
    }

    // A lost lease is told from a late answer: what was taken over meanwhile stays as it is.
    @Test
    void aLateCompletionNeverOverwritesATakeover() throws Exception {
        AtomicInteger cuts = new AtomicInteger();
        try (PostgresLeaseStore store = PostgresLeaseStore.create(cutting(cuts));
                PostgresLeaseStore peer = PostgresLeaseStore.create(database.pool());
                Connection rival = database.connect()) {
            Lease lease = acquire(store);
            database.elapse(TERMS.lease());
            // Holds the row, so that the keeper can't write before the takeover.
            rival.setAutoCommit(false);
            lease.confirm(rival);
            cuts.set(1);
            assertThat(store.complete(lease, ANSWER)).isEqualTo(Completion.DEFERRED);
            rival.rollback();

            Claim taken = peer.takeOver(lease, REQUEST, TERMS);

            await().until(() -> store.keeper().writes().size() == 0);
            // Whichever came first: never both.
            Claim now = peer.claim(key, REQUEST, TERMS);
            assertThat(now)
                    .isInstanceOf(taken instanceof Claim.Acquired ? Claim.InProgress.class : Claim.Completed.class);
        }
    }

    @Test
    void closingWritesWhatIsWaiting() {
        AtomicInteger cuts = new AtomicInteger();
        PostgresLeaseStore store = PostgresLeaseStore.create(cutting(cuts));
        Lease lease = acquire(store);
        cuts.set(1);
        assertThat(store.complete(lease, ANSWER)).isEqualTo(Completion.DEFERRED);

        store.close();

        try (PostgresLeaseStore peer = PostgresLeaseStore.create(database.pool())) {
            assertThat(peer.claim(key, REQUEST, TERMS)).isEqualTo(new Claim.Completed(ANSWER));
        }
    }
}
