// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;
import static org.idemkey.postgres.Calls.answer;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.idemkey.Claim;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore.Completion;
import org.idemkey.IdempotencyStoreException;
import org.idemkey.Lease;
import org.idemkey.Terms;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Line 57, and handlers that hand work to other threads: the request's transaction or an error, never a second one. */
class JoinedThreadsTest {

    @RegisterExtension
    static final TestDatabase DATABASE = new TestDatabase();

    private static PostgresTransactionStore store;
    private static JoinedDataSource joined;

    private final IdempotencyKey key = Calls.newKey();
    private final Calls calls = new Calls(store);
    private final ExecutorService worker = Executors.newSingleThreadExecutor();

    @BeforeAll
    static void create() {
        DATABASE.update("CREATE TABLE effect (name text)");
        joined = JoinedDataSource.builder(DATABASE.pool()).refuseOutside(true).build();
        store = PostgresTransactionStore.create(joined);
    }

    @AfterEach
    void stop() {
        worker.shutdownNow();
    }

    private void insert(Connection connection) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement("INSERT INTO effect VALUES (?)")) {
            statement.setString(1, key.value());
            statement.executeUpdate();
        }
    }

    private long effects() {
        return (long) DATABASE.query("SELECT count(*) FROM effect WHERE name = ?", key.value());
    }

    private Lease claim() {
        return ((Claim.Acquired) store.claim(key, Calls.REQUEST, Terms.defaults())).lease();
    }

    private static void assertEnded(ThrowingCallable use) {
        assertThatExceptionOfType(SQLException.class)
                .isThrownBy(use)
                .extracting(SQLException::getSQLState)
                .isEqualTo("08003");
    }

    @Test
    void anotherThreadTakesTheConnectionFromTheContext() throws Exception {
        calls.serve(key, context -> {
            worker.submit(() -> {
                        try (Connection connection = context.lease().connection()) {
                            insert(connection);
                        }
                        return null;
                    })
                    .get();
            assertThat(effects()).isZero();
            return answer(201);
        });

        assertThat(effects()).isOne();
    }

    @Test
    void anotherThreadMayBeTiedToTheRequest() throws Exception {
        calls.serve(key, context -> {
            worker.submit(() -> {
                        Lease.Binding binding = context.lease().bind();
                        try (Connection connection = joined.getConnection()) {
                            insert(connection);
                        } finally {
                            binding.close();
                        }
                        assertEnded(joined::getConnection);
                        return null;
                    })
                    .get();
            return answer(503);
        });

        assertThat(effects()).isZero();
    }

    @Test
    void anUntiedThreadGetsAClearErrorWhereThatIsAskedFor() throws Exception {
        calls.serve(key, context -> {
            worker.submit(() -> {
                        assertThatExceptionOfType(SQLException.class)
                                .isThrownBy(joined::getConnection)
                                .withMessageContaining("no protected request");
                        assertThatExceptionOfType(SQLException.class)
                                .isThrownBy(() -> joined.getConnection(DATABASE.user(), DATABASE.password()));
                        return null;
                    })
                    .get();
            return answer(201);
        });
    }

    @Test
    void noThreadStaysTied() throws Exception {
        calls.serve(key, context -> answer(201));

        assertEnded(joined::getConnection);
    }

    @Test
    void bindingsNestAndRestoreWhatWasBefore() throws Exception {
        Lease outer = claim();
        Lease inner = ((Claim.Acquired) store.claim(Calls.newKey(), Calls.REQUEST, Terms.defaults())).lease();
        Lease.Binding first = outer.bind();
        Lease.Binding second = inner.bind();
        assertThat(transaction(joined.getConnection())).isSameAs(transaction(inner.connection()));
        second.close();
        assertThat(transaction(joined.getConnection())).isSameAs(transaction(outer.connection()));
        first.close();
        assertEnded(joined::getConnection);
        store.release(inner);
        store.release(outer);
    }

    // Each data source sees its own requests only, also where both are tied to one thread.
    @Test
    void dataSourcesDoNotMixTheirRequests() throws Exception {
        PostgresTransactionStore other = PostgresTransactionStore.builder(
                        JoinedDataSource.builder(DATABASE.pool()).build())
                .build();
        Lease ours = claim();
        Lease theirs = ((Claim.Acquired) other.claim(Calls.newKey(), Calls.REQUEST, Terms.defaults())).lease();
        Lease.Binding first = ours.bind();
        Lease.Binding second = theirs.bind();
        assertThat(transaction(joined.getConnection())).isSameAs(transaction(ours.connection()));
        assertThat(transaction(other.dataSource().getConnection())).isSameAs(transaction(theirs.connection()));
        second.close();
        first.close();
        other.release(theirs);
        store.release(ours);
    }

    private static JoinedTransaction transaction(Connection connection) throws SQLException {
        return connection.unwrap(JoinedTransaction.Member.class).transaction();
    }

    @Test
    void whatComesLateFailsAndTouchesNobodyElsesTransaction() throws Exception {
        Lease lease = claim();
        Connection connection = lease.connection();
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SELECT 1");
        Lease.Binding binding = lease.bind();
        assertThat(store.complete(lease, answer(201))).isEqualTo(Completion.RECORDED);

        assertEnded(joined::getConnection);
        assertEnded(lease::connection);
        binding.close();
        // The pool has one connection that is warm, and hands out that very one.
        Lease next = ((Claim.Acquired) store.claim(Calls.newKey(), Calls.REQUEST, Terms.defaults())).lease();
        assertEnded(() -> statement.executeUpdate("INSERT INTO effect VALUES ('" + key.value() + "')"));
        assertEnded(() -> insert(connection));
        assertEnded(rows::next);
        assertEnded(connection::commit);
        assertEnded(connection::rollback);
        assertEnded(() -> connection.unwrap(Connection.class));
        assertThat(connection.isClosed()).isTrue();
        connection.close();
        statement.close();
        assertThat(store.complete(next, answer(201))).isEqualTo(Completion.RECORDED);

        assertThat(effects()).isZero();
    }

    // A response that is given while a worker still executes something: the worker's statement must not go anywhere.
    @Test
    void aWorkerThatIsStillExecutingKeepsTheRequestFromCommitting() throws Exception {
        PostgresTransactionStore impatient = PostgresTransactionStore.builder(joined)
                .timeout(Duration.ofMillis(300))
                .build();
        try (Connection gate = DATABASE.connect()) {
            gate.setAutoCommit(false);
            gate.createStatement().execute("LOCK TABLE effect");
            Lease lease = ((Claim.Acquired) impatient.claim(key, Calls.REQUEST, Terms.defaults())).lease();
            Future<?> stuck = worker.submit(() -> {
                insert(lease.connection());
                return null;
            });
            await().until(() -> (long) DATABASE.query("SELECT count(*) FROM pg_locks WHERE NOT granted") > 0);

            assertThatExceptionOfType(IdempotencyStoreException.class)
                    .isThrownBy(() -> impatient.complete(lease, answer(201)));

            assertThatExceptionOfType(ExecutionException.class)
                    .isThrownBy(stuck::get)
                    .withCauseInstanceOf(SQLException.class);
            assertThat(impatient.release(lease)).isFalse();
        }
        await().until(() -> calls.serve(key, context -> answer(202)) != null);
        assertThat(effects()).isZero();
    }

    @Test
    void confirmingIsForTheRequestsOwnConnections() throws Exception {
        Lease lease = claim();
        try (Connection connection = lease.connection();
                Connection foreign = DATABASE.connect()) {
            lease.confirm(connection);
            assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> lease.confirm(foreign));
            store.release(lease);
            assertThatExceptionOfType(Lease.LostException.class).isThrownBy(() -> lease.confirm(foreign));
        }
    }
}
