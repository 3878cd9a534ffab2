// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;
import static org.idemkey.postgres.Calls.answer;

import com.zaxxer.hikari.HikariDataSource;
import java.io.IOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import org.idemkey.Claim;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore.Completion;
import org.idemkey.IdempotencyStoreException;
import org.idemkey.Lease;
import org.idemkey.Terms;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Line 41: a commit whose answer was lost is looked up, not guessed. */
class AmbiguousCommitTest {

    @RegisterExtension
    static final TestDatabase DATABASE = new TestDatabase();

    private final IdempotencyKey key = Calls.newKey();
    private WireProxy proxy;
    private HikariDataSource pool;

    @BeforeAll
    static void create() {
        DATABASE.update("CREATE TABLE effect (name text PRIMARY KEY)");
    }

    @BeforeEach
    void open() {
        proxy = new WireProxy(DATABASE);
        pool = proxy.pool(DATABASE, 3);
    }

    @AfterEach
    void close() throws IOException {
        pool.close();
        proxy.close();
    }

    private PostgresTransactionStore store(AdvisoryLocks locks, Duration timeout) {
        return PostgresTransactionStore.builder(pool)
                .locks(locks)
                .timeout(timeout)
                .build();
    }

    private Lease claimAndWork(PostgresTransactionStore store) throws SQLException {
        Lease lease = ((Claim.Acquired) store.claim(key, Calls.REQUEST, Terms.defaults())).lease();
        try (Connection connection = lease.connection();
                PreparedStatement statement = connection.prepareStatement("INSERT INTO effect VALUES (?)")) {
            statement.setString(1, key.value());
            statement.executeUpdate();
        }
        return lease;
    }

    private long effects() {
        return (long) DATABASE.query("SELECT count(*) FROM effect WHERE name = ?", key.value());
    }

    private long rows() {
        return (long) DATABASE.query("SELECT count(*) FROM idempotency_key WHERE key = ?", key.value());
    }

    @ParameterizedTest
    @EnumSource(names = {"STANDARD", "ABSENT"})
    void aCommitThatNeverReachedTheServerIsLost(AdvisoryLocks locks) throws SQLException {
        PostgresTransactionStore store = store(locks, Duration.ofSeconds(30));
        Lease lease = claimAndWork(store);
        proxy.strike(WireProxy.Fault.CUT_BEFORE, "COMMIT");

        assertThat(store.complete(lease, answer(201))).isEqualTo(Completion.LOST);

        assertThat(effects()).isZero();
        assertThat(rows()).isZero();
        assertThat(store.claim(key, Calls.REQUEST, Terms.defaults()))
                .isInstanceOfSatisfying(
                        Claim.Acquired.class,
                        claim -> assertThat(store.release(claim.lease())).isTrue());
    }

    @ParameterizedTest
    @EnumSource(names = {"STANDARD", "ABSENT"})
    void aCommitWhoseAnswerWasLostIsRecorded(AdvisoryLocks locks) throws SQLException {
        PostgresTransactionStore store = store(locks, Duration.ofSeconds(30));
        Lease lease = claimAndWork(store);
        proxy.strike(WireProxy.Fault.CUT_AFTER, "COMMIT");

        assertThat(store.complete(lease, answer(201))).isEqualTo(Completion.RECORDED);

        assertThat(effects()).isOne();
        assertThat(store.claim(key, Calls.REQUEST, Terms.defaults())).isEqualTo(new Claim.Completed(answer(201)));
    }

    // The old server process waits for a statement that lies on the way: it is ended, so that nothing can come of it.
    @ParameterizedTest
    @EnumSource(names = {"STANDARD", "ABSENT"})
    void aCommitThatIsStuckOnItsWayIsLost(AdvisoryLocks locks) throws SQLException {
        PostgresTransactionStore store = store(locks, Duration.ofMillis(1500));
        Lease lease = claimAndWork(store);
        proxy.strike(WireProxy.Fault.STALL_BEFORE, "COMMIT");

        assertThat(store.complete(lease, answer(201))).isEqualTo(Completion.LOST);

        assertThat(effects()).isZero();
        assertThat(rows()).isZero();
    }

    @Test
    void aCommitWhoseAnswerIsStuckIsRecorded() throws SQLException {
        PostgresTransactionStore store = store(AdvisoryLocks.STANDARD, Duration.ofMillis(1500));
        Lease lease = claimAndWork(store);
        proxy.strike(WireProxy.Fault.STALL_AFTER, "COMMIT");

        assertThat(store.complete(lease, answer(201))).isEqualTo(Completion.RECORDED);

        assertThat(effects()).isOne();
    }

    // A server process that is busy committing is not to be guessed at, nor ended: it may do either.
    @Test
    void aCommitThatIsStillGoingOnIsUnknownUntilItsEnd() throws Exception {
        DATABASE.update("CREATE TABLE gate (n int)");
        DATABASE.update("CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS"
                + " 'BEGIN LOCK TABLE gate; RETURN NULL; END'");
        DATABASE.update("CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON effect DEFERRABLE INITIALLY DEFERRED"
                + " FOR EACH ROW EXECUTE FUNCTION wait_at_gate()");
        PostgresTransactionStore store = PostgresTransactionStore.builder(pool)
                .timeout(Duration.ofMillis(700))
                .lockTimeout(Duration.ofMinutes(1))
                .build();
        try (Connection gate = DATABASE.connect()) {
            gate.setAutoCommit(false);
            gate.createStatement().execute("LOCK TABLE gate");
            Lease lease = claimAndWork(store);

            assertThatExceptionOfType(IdempotencyStoreException.class)
                    .isThrownBy(() -> store.complete(lease, answer(201)))
                    .withMessageContaining("could not be found out");
            assertThat(store.claim(key, Calls.REQUEST, Terms.defaults())).isInstanceOf(Claim.InProgress.class);
            assertThat(store.release(lease)).isFalse();

            gate.rollback();
        }
        await().until(this::effects, count -> count == 1);
        assertThat(store.claim(key, Calls.REQUEST, Terms.defaults())).isEqualTo(new Claim.Completed(answer(201)));
        DATABASE.update("DROP TRIGGER slow ON effect");
    }

    @Test
    void aConnectionThatIsCutWhileTheHandlerRunsLeavesNothing() throws Exception {
        PostgresTransactionStore store = store(AdvisoryLocks.STANDARD, Duration.ofSeconds(30));
        Calls calls = new Calls(store);
        proxy.strike(WireProxy.Fault.CUT_BEFORE, "SELECT 42");

        assertThatExceptionOfType(SQLException.class)
                .isThrownBy(() -> calls.serve(key, context -> {
                    try (Connection connection = store.dataSource().getConnection()) {
                        connection.setAutoCommit(false);
                        connection.createStatement().execute("INSERT INTO effect VALUES ('" + key.value() + "')");
                        connection.createStatement().execute("SELECT 42");
                    }
                    return answer(201);
                }));

        assertThat(effects()).isZero();
        await().until(() -> calls.serve(key, context -> answer(201)), answer -> answer != null);
        assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
    }
}
