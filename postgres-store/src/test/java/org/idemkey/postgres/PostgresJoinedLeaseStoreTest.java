// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;
import static org.idemkey.postgres.Calls.answer;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.IOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
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
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PostgresJoinedLeaseStoreTest {

    private static final Terms TERMS = new Terms(Duration.ofHours(1), Duration.ofHours(24));

    @RegisterExtension
    static final TestDatabase DATABASE = new TestDatabase();

    private final IdempotencyKey key = Calls.newKey();
    private WireProxy proxy;
    private HikariDataSource pool;
    private PostgresJoinedLeaseStore store;
    private Calls calls;

    @BeforeAll
    static void create() {
        DATABASE.update("CREATE TABLE effect (name text)");
    }

    @BeforeEach
    void open() {
        proxy = new WireProxy(DATABASE);
        pool = proxy.pool(DATABASE, 3);
        store = PostgresJoinedLeaseStore.builder(pool)
                .timeout(Duration.ofMillis(1500))
                .build();
        calls = new Calls(store);
    }

    @AfterEach
    void close() throws IOException {
        store.close();
        pool.close();
        proxy.close();
    }

    private Lease acquire() {
        Claim claim = store.claim(key, Calls.REQUEST, TERMS);
        assertThat(claim).isInstanceOf(Claim.Acquired.class);
        return ((Claim.Acquired) claim).lease();
    }

    private static void insert(Lease lease) throws SQLException {
        try (Connection connection = lease.connection();
                PreparedStatement statement = connection.prepareStatement("INSERT INTO effect VALUES (?)")) {
            statement.setString(1, lease.key().value());
            statement.executeUpdate();
        }
    }

    private long effects() {
        return (long) DATABASE.query("SELECT count(*) FROM effect WHERE name = ?", key.value());
    }

    private long rows() {
        return (long) DATABASE.query("SELECT count(*) FROM idempotency_key WHERE key = ?", key.value());
    }

    @Test
    void aClaimHoldsNoConnectionUntilTheHandlerTakesOne() throws Exception {
        calls.serve(key, context -> {
            assertThat(rows()).isEqualTo(1);
            assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
            try (Connection connection = store.dataSource().getConnection()) {
                assertThat(connection.isValid(5)).isTrue();
            }
            assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isEqualTo(1);
            return answer(201);
        });

        assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
    }

    @Test
    void effectAndResponseCommitTogether() throws Exception {
        calls.serve(key, context -> {
            insert(context.lease());
            insert(context.lease());
            assertThat(effects()).isZero();
            return answer(201);
        });

        assertThat(effects()).isEqualTo(2);
        assertThat(calls.serve(key, context -> answer(500))).isEqualTo(answer(201));
    }

    @Test
    void aHandlerThatNeverTouchesTheDatabaseIsRecordedToo() throws Exception {
        calls.serve(key, context -> answer(201));

        assertThat(calls.serve(key, context -> answer(500))).isEqualTo(answer(201));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aRollbackWithA402KeepsThe402AndNotTheEffect(boolean afterACommit) throws Exception {
        calls.serve(key, context -> {
            try (Connection connection = store.dataSource().getConnection();
                    Statement statement = connection.createStatement()) {
                connection.setAutoCommit(false);
                if (afterACommit) {
                    statement.execute("SELECT 1");
                    connection.commit();
                }
                statement.execute("INSERT INTO effect VALUES ('" + key.value() + "')");
                connection.rollback();
                statement.execute("SELECT 1");
                assertThatExceptionOfType(SQLException.class).isThrownBy(() -> statement.execute("SELECT 1/0"));
                connection.rollback();
            }
            return answer(402);
        });

        assertThat(effects()).isZero();
        assertThat(calls.serve(key, context -> answer(201))).isEqualTo(answer(402));
    }

    @Test
    void inAutoCommitModeAFailedStatementTakesNothingElseAlong() throws Exception {
        calls.serve(key, context -> {
            try (Connection connection = store.dataSource().getConnection();
                    Statement statement = connection.createStatement()) {
                assertThatExceptionOfType(SQLException.class).isThrownBy(() -> statement.execute("SELECT 1/0"));
                statement.execute("INSERT INTO effect VALUES ('" + key.value() + "')");
                assertThatExceptionOfType(SQLException.class).isThrownBy(() -> statement.execute("SELECT 1/0"));
                statement.execute("INSERT INTO effect VALUES ('" + key.value() + "')");
            }
            return answer(201);
        });

        assertThat(effects()).isEqualTo(2);
    }

    @Test
    void anExceptionLeavesNothingAndFreesTheKey() throws Exception {
        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(() -> calls.serve(key, context -> {
                    insert(context.lease());
                    throw new IllegalStateException("after the effect");
                }));

        assertThat(effects()).isZero();
        assertThat(rows()).isZero();
        assertThat(calls.serve(key, context -> answer(201))).isEqualTo(answer(201));
    }

    // Line 39: what the superseded owner did is undone with its completion.
    @Test
    void afterALapseTheNextTryRunsByItselfAndTheOldOwnerIsUndone() throws Exception {
        Lease first = acquire();
        insert(first);
        DATABASE.elapse(TERMS.lease());

        Lease second = acquire();
        insert(second);

        assertThat(second.attempt()).isEqualTo(2);
        assertThat(store.complete(first, answer(201))).isEqualTo(Completion.LOST);
        assertThat(store.complete(second, answer(202))).isEqualTo(Completion.RECORDED);
        assertThat(effects()).isEqualTo(1);
        assertThat(store.claim(key, Calls.REQUEST, TERMS)).isEqualTo(new Claim.Completed(answer(202)));
    }

    @Test
    void anOldOwnersReleaseUndoesItsWorkAndNothingElse() throws Exception {
        Lease first = acquire();
        insert(first);
        DATABASE.elapse(TERMS.lease());
        Lease second = acquire();

        assertThat(store.release(first)).isFalse();

        assertThat(store.complete(second, answer(202))).isEqualTo(Completion.RECORDED);
        assertThat(effects()).isZero();
    }

    // Somebody's own transaction said that the effect is there, so a lapse is not "nothing happened" any more.
    @Test
    void aConfirmedClaimIsNotAcquiredAfterALapse() throws Exception {
        Lease lease = acquire();
        try (Connection business = DATABASE.connect()) {
            business.setAutoCommit(false);
            lease.confirm(business);
            business.commit();
        }
        DATABASE.elapse(TERMS.lease());

        assertThat(store.claim(key, Calls.REQUEST, TERMS))
                .isInstanceOfSatisfying(
                        Claim.OutcomeUnknown.class,
                        unknown -> assertThat(unknown.effectConfirmed()).isTrue());
    }

    @Test
    void confirmingOnAJoinedConnectionNeedsNothing() throws Exception {
        Lease lease = acquire();
        try (Connection connection = lease.connection()) {
            lease.confirm(connection);
        }

        assertThat(store.complete(lease, answer(201))).isEqualTo(Completion.RECORDED);
        assertThat(DATABASE.query("SELECT confirmed FROM idempotency_key WHERE key = ?", key.value()))
                .isEqualTo(false);
    }

    @Test
    void whatComesLateFails() throws Exception {
        Lease lease = acquire();
        Lease.Binding binding = lease.bind();
        assertThat(store.complete(lease, answer(201))).isEqualTo(Completion.RECORDED);

        assertThatExceptionOfType(SQLException.class).isThrownBy(lease::connection);
        assertThatExceptionOfType(SQLException.class)
                .isThrownBy(() -> store.dataSource().getConnection());
        binding.close();
        assertThat(store.complete(lease, answer(202))).isEqualTo(Completion.LOST);
        assertThat(store.release(lease)).isFalse();
    }

    // Line 41.
    @ParameterizedTest
    @CsvSource({"CUT_BEFORE, LOST, 0", "CUT_AFTER, RECORDED, 1", "STALL_BEFORE, LOST, 0", "STALL_AFTER, RECORDED, 1"})
    void aCommitWithoutAnAnswerIsLookedUp(WireProxy.Fault fault, Completion completion, long effects) throws Exception {
        Lease lease = acquire();
        insert(lease);
        proxy.strike(fault, "COMMIT");

        assertThat(store.complete(lease, answer(201))).isEqualTo(completion);

        assertThat(effects()).isEqualTo(effects);
        assertThat(rows()).isEqualTo(effects);
        assertThat(calls.serve(key, context -> answer(202))).isEqualTo(answer(effects == 1 ? 201 : 202));
    }

    @Test
    void aCommitThatIsStillGoingOnIsUnknownUntilItsEnd() throws Exception {
        DATABASE.update("CREATE TABLE gate (n int)");
        DATABASE.update("CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS"
                + " 'BEGIN LOCK TABLE gate; RETURN NULL; END'");
        DATABASE.update("CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON effect DEFERRABLE INITIALLY DEFERRED"
                + " FOR EACH ROW EXECUTE FUNCTION wait_at_gate()");
        PostgresJoinedLeaseStore patient = PostgresJoinedLeaseStore.builder(pool)
                .timeout(Duration.ofMillis(700))
                .lockTimeout(Duration.ofMinutes(1))
                .build();
        try (Connection gate = DATABASE.connect()) {
            gate.setAutoCommit(false);
            gate.createStatement().execute("LOCK TABLE gate");
            Lease lease = ((Claim.Acquired) patient.claim(key, Calls.REQUEST, TERMS)).lease();
            insert(lease);

            assertThatExceptionOfType(IdempotencyStoreException.class)
                    .isThrownBy(() -> patient.complete(lease, answer(201)))
                    .withMessageContaining("could not be found out");
            assertThat(store.claim(key, Calls.REQUEST, TERMS)).isInstanceOf(Claim.InProgress.class);

            gate.rollback();
        } finally {
            patient.close();
        }
        await().until(this::effects, count -> count == 1);
        assertThat(store.claim(key, Calls.REQUEST, TERMS)).isEqualTo(new Claim.Completed(answer(201)));
        DATABASE.update("DROP TRIGGER slow ON effect");
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aServerProcessThatIsKilledLeavesNothing(boolean atTheCommit) throws Exception {
        Lease lease = acquire();
        insert(lease);
        int pid;
        try (Connection connection = lease.connection();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT pg_backend_pid()")) {
            row.next();
            pid = row.getInt(1);
        }
        DATABASE.query("SELECT pg_terminate_backend(?, 10000)", pid);

        if (atTheCommit) {
            assertThat(store.complete(lease, answer(201))).isEqualTo(Completion.LOST);
        } else {
            assertThatExceptionOfType(SQLException.class).isThrownBy(() -> insert(lease));
            assertThat(store.release(lease)).isTrue();
        }

        assertThat(effects()).isZero();
        assertThat(rows()).isZero();
        assertThat(calls.serve(key, context -> answer(202))).isEqualTo(answer(202));
    }

    @Test
    void whatFailsAtTheCommitItselfUndoesAllAndFreesTheKey() throws Exception {
        DATABASE.update("CREATE TABLE parent (id int PRIMARY KEY)");
        DATABASE.update("CREATE TABLE child (id int REFERENCES parent DEFERRABLE INITIALLY DEFERRED)");
        Lease lease = acquire();
        try (Connection connection = lease.connection()) {
            connection.createStatement().execute("INSERT INTO child VALUES (1)");
        }

        assertThatExceptionOfType(IdempotencyStoreException.class)
                .isThrownBy(() -> store.complete(lease, answer(201)))
                .withMessageContaining("undone");

        assertThat(rows()).isZero();
    }

    @Test
    void aPoolThatHasNothingLeftForTheCompletionFreesTheKey() throws Exception {
        // Set before the pool starts: a later change counts only from its next half-minute on.
        HikariConfig impatient = new HikariConfig();
        impatient.setConnectionTimeout(250);
        HikariDataSource small = DATABASE.pool(1, impatient);
        PostgresJoinedLeaseStore other = PostgresJoinedLeaseStore.builder(small)
                .timeout(Duration.ofMillis(300))
                .build();
        Lease lease = ((Claim.Acquired) other.claim(key, Calls.REQUEST, TERMS)).lease();
        try (Connection taken = small.getConnection()) {
            assertThat(taken.isClosed()).isFalse();
            assertThatExceptionOfType(IdempotencyStoreException.class)
                    .isThrownBy(() -> other.complete(lease, answer(201)));
        }
        // The release was left to the background.
        await().until(() -> rows() == 0);
        other.close();
    }

    @Test
    void aRequestWithOneStatementTakesThreeRoundTrips() throws Exception {
        try (Connection warm = pool.getConnection()) {
            warm.createStatement().execute("SELECT 1");
        }
        int before = proxy.roundTrips();

        calls.serve(key, context -> {
            insert(context.lease());
            return answer(201);
        });

        assertThat(proxy.roundTrips() - before).isEqualTo(3);
    }
}
