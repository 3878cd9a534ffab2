// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import jakarta.servlet.AsyncContext;
import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicReference;
import javax.sql.DataSource;
import org.idemkey.Idempotency;
import org.idemkey.Lease;
import org.idemkey.Problem;
import org.idemkey.postgres.JoinedDataSource;
import org.idemkey.postgres.PostgresSchema;
import org.idemkey.postgres.PostgresTransactionStore;
import org.idemkey.testpostgres.PostgresDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Effect, key and answer in one transaction, whatever threads the handler works on (ADR 22). */
class SameTransactionTest extends ServletTest {

    @RegisterExtension
    static final PostgresDatabase DATABASE = new PostgresDatabase("idemkey_servlet");

    private static HikariDataSource pool;

    private final ExecutorService workers = Executors.newCachedThreadPool();
    private PostgresTransactionStore transactions;
    private DataSource joined;

    @BeforeAll
    static void createTables() throws SQLException {
        pool = DATABASE.pool(8, new HikariConfig());
        PostgresSchema.create(pool);
        execute("CREATE TABLE effect (name text NOT NULL)");
    }

    private static void execute(String sql) throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    @BeforeEach
    void openStore() throws SQLException {
        execute("TRUNCATE effect, idempotency_key");
        open(JoinedDataSource.builder(pool).refuseOutside(true).build());
    }

    private void open(JoinedDataSource dataSource) {
        joined = dataSource;
        transactions = PostgresTransactionStore.create(dataSource);
    }

    @AfterEach
    void endWorkers() {
        workers.shutdownNow();
    }

    private void insert(String name) {
        insert(joined, name);
    }

    private static void insert(DataSource from, String name) {
        try (Connection connection = from.getConnection()) {
            insert(connection, name);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void insert(Connection connection, String name) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO effect VALUES ('" + name + "')");
        }
    }

    private static int keys() throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT count(*) FROM idempotency_key")) {
            rows.next();
            return rows.getInt(1);
        }
    }

    private static String effects() throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(
                        "SELECT coalesce(string_agg(name, ' ' ORDER BY name), '') FROM effect")) {
            rows.next();
            return rows.getString(1);
        }
    }

    private void serveJoined(WebApp.Handler handler) throws Exception {
        Idempotency engine =
                Idempotency.builder(transactions).maxResponseBytes(10_000).build();
        serve(
                new WebApp().filter("/*", new IdempotencyFilter(engine), DispatcherType.REQUEST, DispatcherType.ASYNC),
                handler);
    }

    private static void finish(AsyncContext async, int status) {
        ((HttpServletResponse) async.getResponse()).setStatus(status);
        async.complete();
    }

    /** Every way to work on another thread, in one request: all of it is there at the end, and not before. */
    private WebApp.Handler everywhere(int status) {
        return (request, response) -> {
            if (request.getDispatcherType() == DispatcherType.REQUEST) {
                String before = effects();
                insert("handler");
                Lease lease = IdempotencyFilter.context(request).orElseThrow().lease();
                AsyncContext async = request.startAsync();
                async.start(() -> {
                    insert("start");
                    workers.execute(() -> {
                        Lease.Binding binding = lease.bind();
                        try {
                            insert("bound");
                        } finally {
                            binding.close();
                        }
                        try {
                            insert(lease.connection(), "connection");
                            assertThat(effects()).isEqualTo(before);
                        } catch (SQLException e) {
                            throw new IllegalStateException(e);
                        } finally {
                            async.dispatch();
                        }
                    });
                });
            } else {
                insert("dispatch");
                AsyncContext async = request.startAsync();
                workers.execute(() -> finish(async, status));
            }
        };
    }

    @Test
    void whatTheHandlerDoesOnOtherThreadsIsCommittedWithItsAnswer() throws Exception {
        serveJoined(everywhere(201));
        String key = newKey();
        assertThat(post(key).status()).isEqualTo(201);
        assertThat(effects()).isEqualTo("bound connection dispatch handler start");
        assertThat(post(key).isReplay()).isTrue();
        assertThat(effects()).isEqualTo("bound connection dispatch handler start");
    }

    @Test
    void aFailureUndoesAllOfItAndFreesTheKey() throws Exception {
        serveJoined(everywhere(500));
        String key = newKey();
        assertThat(post(key).status()).isEqualTo(500);
        assertThat(effects()).isEmpty();
        serveJoined(everywhere(201));
        assertThat(post(key).status()).isEqualTo(201);
        assertThat(effects()).isEqualTo("bound connection dispatch handler start");
    }

    /** A handler that doesn't know better: it goes on elsewhere, and takes connections as it did before. */
    private final WebApp.Handler unbound = (request, response) -> {
        insert("handler");
        AsyncContext async = request.startAsync();
        workers.execute(() -> {
            try {
                insert("elsewhere");
                finish(async, 201);
            } catch (IllegalStateException e) {
                finish(async, 500);
            }
        });
    };

    /** No second transaction begins in silence. */
    @Test
    void aThreadThatIsNotTiedGetsNoConnection() throws Exception {
        serveJoined(unbound);
        String key = newKey();
        assertThat(post(key).status()).isEqualTo(500);
        assertThat(effects()).isEmpty();
        assertThat(keys()).isZero();
        serveJoined(everywhere(201));
        assertThat(post(key).status()).isEqualTo(201);
    }

    /** Not even where nobody has thought of it: then the handler can't go on elsewhere. */
    @Test
    void withoutAChoiceNoHandlerIsAsynchronous() throws Exception {
        open(JoinedDataSource.of(pool));
        AtomicReference<String> refusal = new AtomicReference<>();
        serveJoined((request, response) -> {
            try {
                unbound.handle(request, response);
            } catch (IllegalStateException e) {
                refusal.set(e.getMessage());
                throw e;
            }
        });
        String key = newKey();
        assertThat(post(key).status()).isEqualTo(500);
        assertThat(refusal.get()).contains("refuseOutside(true)");
        assertThat(effects()).isEmpty();
        assertThat(keys()).isZero();
        assertThat(post(key).isReplay()).isFalse();
    }

    /** The user explicitly chose otherwise. */
    @Test
    void whoeverChoosesSoHasTransactionsOfTheirOwnOnOtherThreads() throws Exception {
        open(JoinedDataSource.builder(pool).refuseOutside(false).build());
        serveJoined((request, response) -> {
            insert("handler");
            AsyncContext async = request.startAsync();
            workers.execute(() -> {
                insert("elsewhere");
                finish(async, 500);
            });
        });
        assertThat(post(newKey()).status()).isEqualTo(500);
        assertThat(effects()).isEqualTo("elsewhere");
    }

    @Test
    void aTimeOutUndoesEverything() throws Exception {
        serveJoined((request, response) -> {
            insert("handler");
            request.startAsync().setTimeout(10);
        });
        String key = newKey();
        assertThat(post(key).status()).isEqualTo(500);
        assertThat(effects()).isEmpty();
        assertThat(post(key).isReplay()).isFalse();
        assertThat(executions).hasValue(2);
    }

    /** Its 503 frees the key: whatever the handler still does after the time-out is undone with it. */
    @Test
    void aListenersAnswerToATimeOutFreesTheKey() throws Exception {
        serveJoined((request, response) -> {
            insert("handler");
            AsyncContext async = request.startAsync();
            async.setTimeout(10);
            async.addListener(new AsyncListener() {
                @Override
                public void onTimeout(AsyncEvent event) {
                    finish(event.getAsyncContext(), 503);
                }

                @Override
                public void onComplete(AsyncEvent event) {}

                @Override
                public void onError(AsyncEvent event) {}

                @Override
                public void onStartAsync(AsyncEvent event) {}
            });
        });
        String key = newKey();
        assertThat(post(key).status()).isEqualTo(503);
        assertThat(effects()).isEmpty();
        assertThat(post(key).isReplay()).isFalse();
    }

    @Test
    void anExceptionUndoesEverything() throws Exception {
        serveJoined((request, response) -> {
            insert("handler");
            throw new IOException("after the effect");
        });
        assertThat(post(newKey()).status()).isEqualTo(500);
        assertThat(effects()).isEmpty();
    }

    /** The first byte of a stream says that the effect is there; so it is, and nothing can be added to it. */
    @Test
    void aStreamIsCommittedBeforeItsFirstByte() throws Exception {
        serveJoined((request, response) -> {
            insert("before");
            response.getOutputStream().write(new byte[20_000]);
            response.flushBuffer();
            assertThat(effects()).isEqualTo("before");
            try {
                insert("after");
                response.getOutputStream().print("inserted");
            } catch (IllegalStateException e) {
                response.getOutputStream().print("refused");
            }
        });
        String key = newKey();
        assertThat(post(key).text()).endsWith("refused");
        assertThat(effects()).isEqualTo("before");
        assertProblem(post(key), Problem.RESPONSE_NOT_REPLAYABLE);
    }

    @Test
    void everyConnectionIsBackInThePool() throws Exception {
        serveJoined(everywhere(201));
        for (int i = 0; i < 20; i++) {
            assertThat(post(newKey()).status()).isEqualTo(201);
        }
        await().untilAsserted(() ->
                assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero());
    }
}
