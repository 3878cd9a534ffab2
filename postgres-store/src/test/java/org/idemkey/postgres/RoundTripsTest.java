// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.idemkey.postgres.Calls.answer;

import com.zaxxer.hikari.HikariDataSource;
import java.io.IOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.UUID;
import org.idemkey.IdempotencyKey;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What a protected request costs on the wire, counted there. */
class RoundTripsTest {

    @RegisterExtension
    static final TestDatabase DATABASE = new TestDatabase();

    /** What {@link #cost} sends before it counts. */
    private static final int WARMING = 1;

    private static WireProxy proxy;
    private static HikariDataSource pool;
    private static PostgresTransactionStore store;

    private final Calls calls = new Calls(store);

    @BeforeAll
    static void create() {
        DATABASE.update("CREATE TABLE effect (name text PRIMARY KEY)");
        proxy = new WireProxy(DATABASE);
        pool = proxy.pool(DATABASE, 2);
        store = PostgresTransactionStore.create(pool);
    }

    @AfterAll
    static void close() throws IOException {
        pool.close();
        proxy.close();
    }

    private static void insert(Connection connection) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement("INSERT INTO effect VALUES (?)")) {
            statement.setString(1, UUID.randomUUID().toString());
            statement.executeUpdate();
        }
    }

    /** Round trips of one request, on a connection that the pool needn't try first. */
    private int cost(IdempotencyKey key, Calls.Handler handler) throws Exception {
        try (Connection warm = pool.getConnection()) {
            warm.createStatement().execute("SELECT 1");
        }
        int before = proxy.roundTrips();
        calls.serve(key, handler);
        return proxy.roundTrips() - before;
    }

    @Test
    void aHandlerWithOneStatementTakesThreeRoundTrips() throws Exception {
        for (int i = 0; i < 8; i++) {
            int cost = cost(Calls.newKey(), context -> {
                try (Connection connection = store.dataSource().getConnection()) {
                    insert(connection);
                }
                return answer(201);
            });
            // Also after the driver has begun to use prepared statements of the server's, from the fifth time on.
            assertThat(cost).isEqualTo(3);
        }
    }

    // A driver's BEGIN is one more, and wakes whoever waits for the rest.
    @Test
    void theServerAnswersEachRoundTripOnce() throws Exception {
        for (int i = 0; i < 8; i++) {
            int before = proxy.answers();
            int cost = cost(Calls.newKey(), context -> {
                try (Connection connection = store.dataSource().getConnection()) {
                    insert(connection);
                }
                return answer(201);
            });
            assertThat(proxy.answers() - before - WARMING).isEqualTo(cost);
        }
    }

    @Test
    void aTransactionOfOneStatementTakesThreeRoundTripsToo() throws Exception {
        int cost = cost(Calls.newKey(), context -> {
            try (Connection connection = store.dataSource().getConnection()) {
                connection.setAutoCommit(false);
                insert(connection);
                connection.commit();
            }
            return answer(201);
        });
        assertThat(cost).isEqualTo(3);
    }

    @Test
    void eachFurtherStatementOfATransactionTakesOne() throws Exception {
        int cost = cost(Calls.newKey(), context -> {
            try (Connection connection = store.dataSource().getConnection()) {
                connection.setAutoCommit(false);
                insert(connection);
                insert(connection);
                insert(connection);
                connection.commit();
            }
            return answer(201);
        });
        assertThat(cost).isEqualTo(5);
    }

    @Test
    void eachFurtherStatementInAutoCommitModeTakesTwo() throws Exception {
        int cost = cost(Calls.newKey(), context -> {
            try (Connection connection = store.dataSource().getConnection()) {
                insert(connection);
                insert(connection);
                insert(connection);
            }
            return answer(201);
        });
        assertThat(cost).isEqualTo(7);
    }

    @Test
    void aReplayTakesOneRoundTrip() throws Exception {
        IdempotencyKey key = Calls.newKey();
        calls.serve(key, context -> answer(201));

        assertThat(cost(key, context -> answer(500))).isEqualTo(1);
    }

    /** The first look-up there has begun a transaction, as for a new key, which has to be ended. */
    @Test
    void theFirstReplayOfWhatAnotherInstanceHasRecordedTakesTwoRoundTrips() throws Exception {
        IdempotencyKey key = Calls.newKey();
        new Calls(PostgresTransactionStore.create(DATABASE.pool(2))).serve(key, context -> answer(201));

        assertThat(cost(key, context -> answer(500))).isEqualTo(2);
        assertThat(cost(key, context -> answer(500))).isEqualTo(1);
    }

    @Test
    void anUndoneRequestTakesOneRoundTripToUndo() throws Exception {
        int cost = cost(Calls.newKey(), context -> {
            try (Connection connection = store.dataSource().getConnection()) {
                insert(connection);
            }
            return answer(503);
        });
        assertThat(cost).isEqualTo(3);
    }

    // Effect and key have one transaction id, and the key's row is written once.
    @Test
    void aRequestIsOneTransactionWithOneVersionOfItsRow() throws Exception {
        DATABASE.update("CREATE TABLE written (operation text, key text, transaction text)");
        DATABASE.update(
                "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN"
                        + " INSERT INTO written VALUES (TG_OP, coalesce(NEW.key, OLD.key), pg_current_xact_id()); RETURN NULL; END'");
        DATABASE.update("CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON idempotency_key"
                + " FOR EACH ROW EXECUTE FUNCTION note()");
        IdempotencyKey key = Calls.newKey();
        String[] transaction = new String[1];
        calls.serve(key, context -> {
            try (Connection connection = store.dataSource().getConnection();
                    Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery(
                            "INSERT INTO effect SELECT pg_current_xact_id()::text RETURNING name")) {
                assertThat(rows.next()).isTrue();
                transaction[0] = rows.getString(1);
            }
            return answer(201);
        });

        assertThat(DATABASE.query(
                        "SELECT string_agg(operation || ' ' || transaction, ', ') FROM written WHERE key = ?",
                        key.value()))
                .isEqualTo("INSERT " + transaction[0]);
        DATABASE.update("DROP TRIGGER note ON idempotency_key");
    }
}
