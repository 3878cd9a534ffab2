// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;
import static org.idemkey.postgres.Calls.answer;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.idemkey.Claim;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore.Completion;
import org.idemkey.IdempotencyStoreException;
import org.idemkey.Lease;
import org.idemkey.StoredResponse;
import org.idemkey.Terms;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class PostgresTransactionStoreTest {

    @RegisterExtension
    static final TestDatabase DATABASE = new TestDatabase();

    private final IdempotencyKey key = Calls.newKey();

    @BeforeAll
    static void create() {
        DATABASE.update("CREATE TABLE effect (name text)");
    }

    private static Claim claim(PostgresTransactionStore store, IdempotencyKey key) {
        return store.claim(key, Calls.REQUEST, Terms.defaults());
    }

    private static Lease acquire(PostgresTransactionStore store, IdempotencyKey key) {
        Claim claim = claim(store, key);
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

    private static long effects(IdempotencyKey key) {
        return (long) DATABASE.query("SELECT count(*) FROM effect WHERE name = ?", key.value());
    }

    // What has been recorded lately.

    @Test
    void aKeyThatWasRecordedHereAndHasExpiredIsNew() {
        PostgresTransactionStore store = PostgresTransactionStore.create(DATABASE.pool(2));
        store.complete(acquire(store, key), answer(201));
        assertThat(claim(store, key)).isEqualTo(new Claim.Completed(answer(201)));
        DATABASE.update("UPDATE idempotency_key SET expires_at = now() WHERE key = '" + key.value() + "'");

        Lease lease = acquire(store, key);
        assertThat(lease.attempt()).isEqualTo(1);
        assertThat(claim(store, key)).isEqualTo(new Claim.InProgress(Duration.ZERO));
        assertThat(store.complete(lease, answer(202))).isEqualTo(Completion.RECORDED);
        assertThat(claim(store, key)).isEqualTo(new Claim.Completed(answer(202)));
    }

    @Test
    void aKeyThatWasRecordedHereAndIsGoneIsNew() {
        PostgresTransactionStore store = PostgresTransactionStore.create(DATABASE.pool(2));
        store.complete(acquire(store, key), answer(201));
        DATABASE.update("DELETE FROM idempotency_key WHERE key = '" + key.value() + "'");

        assertThat(store.complete(acquire(store, key), answer(202))).isEqualTo(Completion.RECORDED);
        assertThat(claim(store, key)).isEqualTo(new Claim.Completed(answer(202)));
    }

    // The bound.

    @Test
    void requestsBeyondTheBoundWaitWithoutAConnectionAndAreThenRefused() throws Exception {
        HikariDataSource pool = DATABASE.pool(3);
        PostgresTransactionStore store = PostgresTransactionStore.builder(pool)
                .maxConcurrent(2)
                .permitWait(Duration.ofMillis(50))
                .build();
        Lease first = acquire(store, Calls.newKey());
        Lease second = acquire(store, Calls.newKey());

        assertThatExceptionOfType(IdempotencyStoreException.class).isThrownBy(() -> claim(store, key));

        assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isEqualTo(2);
        try (Connection unprotected = pool.getConnection()) {
            assertThat(unprotected.isValid(5)).isTrue();
        }
        store.release(first);
        store.complete(second, answer(201));
        assertThat(store.release(acquire(store, key))).isTrue();
        assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
    }

    @Test
    void aWaitingRequestGetsItsTurn() throws Exception {
        PostgresTransactionStore store = PostgresTransactionStore.builder(DATABASE.pool(2))
                .maxConcurrent(1)
                .permitWait(Duration.ofMinutes(1))
                .build();
        Lease first = acquire(store, Calls.newKey());
        ExecutorService executor = Executors.newSingleThreadExecutor();
        try {
            Future<Lease> waiting = executor.submit(() -> acquire(store, key));
            store.release(first);
            assertThat(store.release(waiting.get())).isTrue();
        } finally {
            executor.shutdownNow();
        }
    }

    // Case 21: an answer that is there already needn't wait for somebody else's handler.
    @Test
    void replaysAndDuplicatesNeedNoTurn() {
        PostgresTransactionStore store = PostgresTransactionStore.builder(DATABASE.pool(2))
                .maxConcurrent(1)
                .permitWait(Duration.ZERO)
                .build();
        IdempotencyKey completed = Calls.newKey();
        store.complete(acquire(store, completed), answer(201));
        Lease lease = acquire(store, key);

        assertThat(claim(store, completed)).isEqualTo(new Claim.Completed(answer(201)));
        assertThat(store.claim(completed, Calls.OTHER_REQUEST, Terms.defaults()))
                .isEqualTo(new Claim.Mismatched());
        assertThat(claim(store, key)).isEqualTo(new Claim.InProgress(Duration.ZERO));
        assertThat(store.claim(key, Calls.OTHER_REQUEST, Terms.defaults())).isEqualTo(new Claim.Mismatched());
        assertThat(store.complete(lease, answer(201))).isEqualTo(Completion.RECORDED);
    }

    @Test
    void everyTurnIsGivenBackOnceWhateverFails() throws Exception {
        try (WireProxy proxy = new WireProxy(DATABASE);
                HikariDataSource pool = proxy.pool(DATABASE, 3)) {
            PostgresTransactionStore store = PostgresTransactionStore.builder(pool)
                    .maxConcurrent(2)
                    .permitWait(Duration.ZERO)
                    .build();
            for (int i = 0; i < 3; i++) {
                proxy.strike(WireProxy.Fault.CUT_BEFORE, "pg_try_advisory_xact_lock");
                assertThatExceptionOfType(IdempotencyStoreException.class).isThrownBy(() -> claim(store, key));
                Lease cut = acquire(store, key);
                proxy.strike(WireProxy.Fault.CUT_BEFORE, "COMMIT");
                assertThat(store.complete(cut, answer(201))).isEqualTo(Completion.LOST);
                Lease undone = acquire(store, key);
                proxy.strike(WireProxy.Fault.CUT_BEFORE, "ROLLBACK");
                assertThat(store.release(undone)).isTrue();
                assertThat(store.release(undone)).isFalse();
                assertThat(store.complete(undone, answer(201))).isEqualTo(Completion.LOST);
            }

            Lease first = acquire(store, Calls.newKey());
            Lease second = acquire(store, Calls.newKey());
            assertThatExceptionOfType(IdempotencyStoreException.class).isThrownBy(() -> claim(store, Calls.newKey()));
            store.release(first);
            store.release(second);
            assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
        }
    }

    @Test
    void anExhaustedPoolIsTheStoresFailure() throws Exception {
        HikariConfig config = new HikariConfig();
        config.setConnectionTimeout(250);
        HikariDataSource pool = DATABASE.pool(2, config);
        PostgresTransactionStore store = PostgresTransactionStore.create(pool);
        try (Connection one = pool.getConnection();
                Connection two = pool.getConnection()) {
            assertThat(one).isNotSameAs(two);
            assertThatExceptionOfType(IdempotencyStoreException.class).isThrownBy(() -> claim(store, key));
        }
        assertThat(store.release(acquire(store, key))).isTrue();
    }

    /** Line 42: the handler must not run for nothing. Answers that are there are given all the same. */
    @Test
    void aServerThatTakesNoWritesCountsAsAwayAtTheClaim() {
        HikariConfig readOnly = new HikariConfig();
        readOnly.setReadOnly(true);
        PostgresTransactionStore store = PostgresTransactionStore.create(DATABASE.pool(4, readOnly));
        IdempotencyKey done = Calls.newKey();
        PostgresTransactionStore writing = PostgresTransactionStore.create(DATABASE.pool());
        writing.complete(acquire(writing, done), answer(201));

        assertThatExceptionOfType(IdempotencyStoreException.class).isThrownBy(() -> claim(store, key));

        assertThat(claim(store, done)).isInstanceOf(Claim.Completed.class);
        assertThat(store.release(acquire(writing, key))).isTrue();
    }

    @Test
    void theBoundLeavesSomethingOfAPoolThatTellsItsSize() {
        assertThat(PoolSize.of(DATABASE.pool())).hasValue(16);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PostgresTransactionStore.builder(DATABASE.pool())
                        .maxConcurrent(16)
                        .build())
                .withMessageContaining("maxConcurrent");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PostgresTransactionStore.create(DATABASE.pool(1)))
                .withMessageContaining("maxConcurrent");
        ProbedDataSource silent = new ProbedDataSource(DATABASE.pool(), new ProbedDataSource.Probe() {});
        assertThat(PoolSize.of(silent)).isEmpty();
        PostgresTransactionStore.builder(silent).maxConcurrent(100).build();
    }

    @Test
    void settingsOutOfTheirBoundsAreRefused() {
        PostgresTransactionStore.Builder builder = PostgresTransactionStore.builder(DATABASE.pool());
        assertThatIllegalArgumentException()
                .isThrownBy(() -> builder.maxConcurrent(0).build())
                .withMessageContaining("maxConcurrent");
        builder.maxConcurrent(1);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> builder.permitWait(Duration.ofMillis(-1)).build())
                .withMessageContaining("permitWait");
        builder.permitWait(Duration.ZERO);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> builder.timeout(Duration.ZERO).build())
                .withMessageContaining("timeout");
        builder.timeout(Duration.ofSeconds(1));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> builder.lockTimeout(Duration.ofNanos(1)).build())
                .withMessageContaining("lockTimeout");
        builder.lockTimeout(Duration.ofSeconds(1));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> builder.idleTimeout(Duration.ZERO).build())
                .withMessageContaining("idleTimeout");
        assertThatIllegalArgumentException().isThrownBy(() -> builder.table("Keys; DROP"));
    }

    // The judge.

    /** Lets threads run the same request at once, each with an effect of its own. */
    private static List<StoredResponse> race(PostgresTransactionStore store, IdempotencyKey key, int threads)
            throws Exception {
        ExecutorService executor = Executors.newFixedThreadPool(threads);
        try {
            CyclicBarrier start = new CyclicBarrier(threads);
            CyclicBarrier handlers = new CyclicBarrier(threads);
            List<Future<StoredResponse>> answers = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                answers.add(executor.submit(() -> {
                    start.await();
                    StoredResponse answer = new Calls(store).serve(key, context -> {
                        insert(context.lease());
                        return answer(201);
                    });
                    handlers.await();
                    return answer;
                }));
            }
            List<StoredResponse> results = new ArrayList<>();
            for (Future<StoredResponse> answer : answers) {
                results.add(answer.get());
            }
            return results;
        } finally {
            executor.shutdownNow();
        }
    }

    @ParameterizedTest
    @EnumSource(AdvisoryLocks.class)
    void thePrimaryKeyDecidesWhateverTheLocksSay(AdvisoryLocks locks) throws Exception {
        PostgresTransactionStore store = PostgresTransactionStore.builder(DATABASE.pool())
                .locks(locks)
                .maxConcurrent(8)
                .build();
        for (int round = 0; round < 20; round++) {
            IdempotencyKey raced = Calls.newKey();

            List<StoredResponse> answers = race(store, raced, 8);

            assertThat(effects(raced)).isEqualTo(1);
            assertThat(answers).contains(answer(201));
            assertThat(claim(store, raced)).isEqualTo(new Claim.Completed(answer(201)));
        }
    }

    // Without the locks, each of them runs; what all but one did is undone, and they say so.
    @Test
    void whoLosesToThePrimaryKeyIsLostWithAllItDid() throws Exception {
        PostgresTransactionStore store = PostgresTransactionStore.builder(DATABASE.pool())
                .locks(AdvisoryLocks.ABSENT)
                .build();
        Lease one = acquire(store, key);
        Lease other = acquire(store, key);
        insert(one);
        insert(other);
        insert(other);

        assertThat(store.complete(one, answer(201))).isEqualTo(Completion.RECORDED);
        assertThat(store.complete(other, answer(202))).isEqualTo(Completion.LOST);

        assertThat(effects(key)).isEqualTo(1);
        assertThat(claim(store, key)).isEqualTo(new Claim.Completed(answer(201)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"TRANSACTION_REPEATABLE_READ", "TRANSACTION_SERIALIZABLE"})
    void stricterIsolationKeepsThePromiseToo(String isolation) throws Exception {
        HikariConfig config = new HikariConfig();
        config.setTransactionIsolation(isolation);
        PostgresTransactionStore store = PostgresTransactionStore.builder(DATABASE.pool(9, config))
                .maxConcurrent(8)
                .build();
        for (int round = 0; round < 10; round++) {
            IdempotencyKey raced = Calls.newKey();
            race(store, raced, 8);
            assertThat(effects(raced)).isEqualTo(1);
        }
    }

    // The look-up in the locks' own statement would have a snapshot from before the first request's commit.
    @Test
    void aRowThatIsCommittedWhileTheLocksAreTakenIsSeen() throws Exception {
        DATABASE.update("CREATE FUNCTION public.pg_try_advisory_xact_lock(number bigint) RETURNS boolean"
                + " LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock_shared(1, 1);"
                + " RETURN pg_catalog.pg_try_advisory_xact_lock(number); END'");
        HikariConfig config = new HikariConfig();
        config.setConnectionInitSql("SET search_path = public, pg_catalog");
        PostgresTransactionStore store = PostgresTransactionStore.create(DATABASE.pool(4, config));
        // It isn't held up at the gate, which is to be shut behind it.
        PostgresTransactionStore ungated = PostgresTransactionStore.create(DATABASE.pool());
        Lease running = acquire(ungated, key);
        insert(running);
        ExecutorService executor = Executors.newSingleThreadExecutor();
        try (Connection gate = DATABASE.connect()) {
            gate.setAutoCommit(false);
            gate.createStatement().execute("SELECT pg_advisory_xact_lock(1, 1)");
            Future<Claim> second = executor.submit(() -> claim(store, key));
            await().until(() ->
                    (long) DATABASE.query("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
                            > 0);
            assertThat(ungated.complete(running, answer(201))).isEqualTo(Completion.RECORDED);
            gate.rollback();

            assertThat(second.get()).isEqualTo(new Claim.Completed(answer(201)));
        } finally {
            executor.shutdownNow();
            DATABASE.update("DROP FUNCTION public.pg_try_advisory_xact_lock(bigint)");
        }
    }

    // The end.

    @Test
    void whatFailsAtTheCommitItselfUndoesAll() throws Exception {
        DATABASE.update("CREATE TABLE parent (id int PRIMARY KEY)");
        DATABASE.update("CREATE TABLE child (id int REFERENCES parent DEFERRABLE INITIALLY DEFERRED)");
        DATABASE.update("CREATE TABLE uniquely (id int UNIQUE DEFERRABLE INITIALLY DEFERRED)");
        PostgresTransactionStore store = PostgresTransactionStore.create(DATABASE.pool());
        for (String sql : new String[] {"INSERT INTO child VALUES (1)", "INSERT INTO uniquely VALUES (1), (1)"}) {
            Lease lease = acquire(store, key);
            try (Connection connection = lease.connection()) {
                connection.createStatement().execute(sql);
            }
            assertThatExceptionOfType(IdempotencyStoreException.class)
                    .isThrownBy(() -> store.complete(lease, answer(201)))
                    .withMessageContaining("undone");
            assertThat(store.release(lease)).isFalse();
            assertThat(DATABASE.query("SELECT count(*) FROM idempotency_key WHERE key = ?", key.value()))
                    .isEqualTo(0L);
        }
        assertThat(store.release(acquire(store, key))).isTrue();
    }

    @Test
    void aRowThatSomebodyElseIsJustWritingIsWaitedForBriefly() throws Exception {
        PostgresTransactionStore store = PostgresTransactionStore.builder(DATABASE.pool())
                .lockTimeout(Duration.ofMillis(50))
                .build();
        Lease lease = acquire(store, key);
        insert(lease);
        try (Connection rival = DATABASE.connect()) {
            rival.setAutoCommit(false);
            try (PreparedStatement statement = rival.prepareStatement(
                    "INSERT INTO idempotency_key (scope, key, request_hash, claim_token, lease_until, expires_at) VALUES"
                            + " (?, ?, ?, gen_random_uuid(), now() + interval '1 h', now() + interval '1 h')")) {
                statement.setString(1, key.scope().value());
                statement.setString(2, key.value());
                statement.setString(3, Calls.REQUEST.hex());
                statement.executeUpdate();
            }
            assertThatExceptionOfType(IdempotencyStoreException.class)
                    .isThrownBy(() -> store.complete(lease, answer(201)))
                    .withMessageContaining("undone");
        }
        assertThat(effects(key)).isZero();
        assertThat(store.release(acquire(store, key))).isTrue();
    }

    @Test
    void aHandlerThatLeavesItsTransactionAloneForTooLongIsUndone() throws Exception {
        PostgresTransactionStore store = PostgresTransactionStore.builder(DATABASE.pool())
                .idleTimeout(Duration.ofMillis(100))
                .build();
        Lease lease = acquire(store, key);
        insert(lease);

        await().until(() -> claim(store, key) instanceof Claim.Acquired next && store.release(next.lease()));

        assertThatExceptionOfType(SQLException.class).isThrownBy(() -> insert(lease));
        assertThatExceptionOfType(IdempotencyStoreException.class)
                .isThrownBy(() -> store.complete(lease, answer(201)))
                .withMessageContaining("undone");
        assertThat(effects(key)).isZero();
    }

    /** Where a server process is ended. */
    enum Moment {
        BEFORE_THE_HANDLER,
        WITHIN_THE_HANDLER,
        BEFORE_THE_COMMIT
    }

    // Line 40.
    @ParameterizedTest
    @EnumSource(Moment.class)
    void aServerProcessThatIsKilledLeavesNothingAndFreesTheKeyAtOnce(Moment moment) throws Exception {
        PostgresTransactionStore store = PostgresTransactionStore.create(DATABASE.pool());
        PostgresTransactionStore neighbour = PostgresTransactionStore.create(DATABASE.pool(2));
        Lease lease = acquire(store, key);
        if (moment != Moment.BEFORE_THE_HANDLER) {
            insert(lease);
        }

        DATABASE.query(
                "SELECT pg_terminate_backend(?, 10000)",
                ((TransactionLease) lease).backend().pid());

        Lease next = acquire(neighbour, key);
        if (moment == Moment.BEFORE_THE_COMMIT) {
            assertThat(store.complete(lease, answer(201))).isEqualTo(Completion.LOST);
        } else {
            assertThatExceptionOfType(SQLException.class).isThrownBy(() -> insert(lease));
            assertThat(store.release(lease)).isTrue();
        }
        insert(next);
        assertThat(neighbour.complete(next, answer(202))).isEqualTo(Completion.RECORDED);
        assertThat(effects(key)).isEqualTo(1);
        assertThat(claim(store, key)).isEqualTo(new Claim.Completed(answer(202)));
    }
}
