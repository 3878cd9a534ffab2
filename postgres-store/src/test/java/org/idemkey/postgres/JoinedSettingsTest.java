// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.idemkey.postgres.Calls.answer;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.Statement;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What a handler sets on its connection, and that nobody else gets to see it. */
class JoinedSettingsTest {

    @RegisterExtension
    static final TestDatabase DATABASE = new TestDatabase();

    private static HikariDataSource pool;
    private static PostgresTransactionStore store;

    private final Calls calls = new Calls(store);

    /** A pool whose every next connection is the one that was just given back. */
    @BeforeAll
    static void create() {
        DATABASE.update("CREATE TABLE effect (name text PRIMARY KEY)");
        DATABASE.update("CREATE SCHEMA other");
        HikariConfig config = new HikariConfig();
        config.setMinimumIdle(1);
        pool = DATABASE.pool(2, config);
        store = PostgresTransactionStore.builder(pool).maxConcurrent(1).build();
    }

    /** What a handler does with its connection. */
    @FunctionalInterface
    private interface Use {
        void on(Connection connection) throws SQLException;
    }

    private void serve(int status, Use use) throws Exception {
        calls.serve(Calls.newKey(), context -> {
            try (Connection connection = store.dataSource().getConnection()) {
                use.on(connection);
            }
            return answer(status);
        });
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static void change(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        connection.setReadOnly(true);
        connection.setHoldability(ResultSet.HOLD_CURSORS_OVER_COMMIT);
        connection.setSchema("other");
        connection.setNetworkTimeout(Runnable::run, 54_321);
        connection.setClientInfo("ApplicationName", "mine");
        connection.setTypeMap(Map.of("mine", String.class));
    }

    private static void assertUnchanged(Connection connection) throws SQLException {
        assertThat(connection.getAutoCommit()).isTrue();
        assertThat(connection.isReadOnly()).isFalse();
        assertThat(connection.getHoldability()).isEqualTo(ResultSet.CLOSE_CURSORS_AT_COMMIT);
        assertThat(connection.getSchema()).isEqualTo("public");
        assertThat(connection.getNetworkTimeout()).isZero();
        assertThat(connection.getClientInfo("ApplicationName")).isNotEqualTo("mine");
        assertThat(connection.getTypeMap()).isEmpty();
        assertThat((Object) connection.getWarnings()).isNull();
    }

    private static void assertPoolUnchanged() throws SQLException {
        try (Connection connection = pool.getConnection()) {
            assertUnchanged(connection);
            assertThat(connection.getTransactionIsolation()).isEqualTo(Connection.TRANSACTION_READ_COMMITTED);
        }
        assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
    }

    @Test
    void settingsEndWithTheConnection() throws Exception {
        calls.serve(Calls.newKey(), context -> {
            try (Connection connection = store.dataSource().getConnection()) {
                change(connection);
                execute(connection, "SELECT 1");
                connection.commit();
                assertThat(connection.isReadOnly()).isTrue();
                assertThat(connection.getSchema()).isEqualTo("other");
                execute(connection, "DO 'BEGIN RAISE WARNING ''mine''; END'");
                connection.rollback();
            }
            try (Connection connection = store.dataSource().getConnection()) {
                assertUnchanged(connection);
            }
            return answer(201);
        });

        assertPoolUnchanged();
    }

    @Test
    void settingsOfALeakedConnectionEndWithTheRequest() throws Exception {
        for (int status : new int[] {201, 503}) {
            calls.serve(Calls.newKey(), context -> {
                Connection leaked = store.dataSource().getConnection();
                change(leaked);
                return answer(status);
            });
            assertPoolUnchanged();
        }
    }

    @Test
    void aReadOnlyTransactionCannotWriteAndTheNextOneCan() throws Exception {
        serve(201, connection -> {
            connection.setAutoCommit(false);
            connection.setReadOnly(true);
            execute(connection, "SELECT 1");
            assertThatExceptionOfType(SQLException.class)
                    .isThrownBy(() -> execute(connection, "INSERT INTO effect VALUES ('read-only')"))
                    .extracting(SQLException::getSQLState)
                    .isEqualTo("25006");
            connection.rollback();
            execute(connection, "SELECT 1");
            assertThatExceptionOfType(SQLException.class)
                    .as("as the driver has it, not within a transaction")
                    .isThrownBy(() -> connection.setReadOnly(false))
                    .extracting(SQLException::getSQLState)
                    .isEqualTo("25001");
            connection.commit();
            connection.setReadOnly(false);
            execute(connection, "INSERT INTO effect VALUES ('written')");
            connection.commit();
        });

        assertThat(DATABASE.query("SELECT string_agg(name, ' ') FROM effect WHERE name IN ('read-only', 'written')"))
                .isEqualTo("written");
    }

    @Test
    void aReadOnlyTransactionThatIsLeftOpenDoesNotKeepTheKeyFromBeingWritten() throws Exception {
        var key = Calls.newKey();
        calls.serve(key, context -> {
            Connection leaked = store.dataSource().getConnection();
            leaked.setAutoCommit(false);
            leaked.setReadOnly(true);
            execute(leaked, "SELECT 1");
            return answer(201);
        });

        assertThat(calls.serve(key, context -> answer(500))).isEqualTo(answer(201));
    }

    @Test
    void onlyTheIsolationLevelThatItHasCanBeSet() throws Exception {
        serve(201, connection -> {
            connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
            assertThat(connection.getTransactionIsolation()).isEqualTo(Connection.TRANSACTION_READ_COMMITTED);
            assertThatExceptionOfType(SQLException.class)
                    .isThrownBy(() -> connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE))
                    .extracting(SQLException::getSQLState)
                    .isEqualTo("25001");
        });
    }

    @Test
    void theDriversConnectionCanBeReached() throws Exception {
        serve(201, connection -> {
            Class<?> driver = driverType();
            assertThat(connection.isWrapperFor(driver)).isTrue();
            assertThat(connection.unwrap(driver)).isInstanceOf(driver);
            assertThat(connection.isWrapperFor(Connection.class)).isTrue();
            assertThat(connection.unwrap(Connection.class)).isSameAs(connection);
        });
    }

    private static Class<?> driverType() {
        try {
            return Class.forName("org.postgresql.PGConnection");
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void cursorsWorkInTransactionsAndWholeResultsInAutoCommitMode() throws Exception {
        serve(201, connection -> {
            try (Statement statement = connection.createStatement()) {
                statement.setFetchSize(10);
                // The last row fails. By a cursor that would come out when the statement stands already.
                assertThatExceptionOfType(SQLException.class)
                        .isThrownBy(
                                () -> statement.executeQuery("SELECT 1 / (100 - n) FROM generate_series(1, 100) n"));
                assertThat(statement.getFetchSize()).isEqualTo(10);
                connection.setAutoCommit(false);
                try (ResultSet rows = statement.executeQuery("SELECT n FROM generate_series(1, 100) n")) {
                    int count = 0;
                    while (rows.next()) {
                        count++;
                    }
                    assertThat(count).isEqualTo(100);
                }
                connection.commit();
            }
        });
    }

    @Test
    void anAbortedConnectionLeavesNothing() throws Exception {
        var key = Calls.newKey();
        calls.serve(key, context -> {
            Connection connection = store.dataSource().getConnection();
            execute(connection, "INSERT INTO effect VALUES ('aborted')");
            connection.abort(Runnable::run);
            assertThat(connection.isClosed()).isTrue();
            return answer(201);
        });

        assertThat(DATABASE.query("SELECT count(*) FROM effect WHERE name = 'aborted'"))
                .isEqualTo(0L);
        assertThat(calls.serve(key, context -> answer(202))).isEqualTo(answer(202));
    }

    @Test
    void anotherUsersConnectionCannotJoin() throws Exception {
        calls.serve(Calls.newKey(), context -> {
            assertThatExceptionOfType(SQLFeatureNotSupportedException.class)
                    .isThrownBy(() -> store.dataSource().getConnection(DATABASE.user(), DATABASE.password()));
            return answer(201);
        });
    }

    @Test
    void clientInfoCanBeSetAllAtOnce() throws Exception {
        serve(201, connection -> {
            Properties info = new Properties();
            info.setProperty("ApplicationName", "mine");
            connection.setClientInfo(info);
            assertThat(connection.getClientInfo("ApplicationName")).isEqualTo("mine");
        });

        assertPoolUnchanged();
    }

    // Line 66: in a pool like that, what a handler doesn't commit is undone.
    @Test
    void whereThePoolHasAutoCommitOffAHandlerHasToCommit() throws Exception {
        HikariConfig config = new HikariConfig();
        config.setAutoCommit(false);
        HikariDataSource manual = DATABASE.pool(2, config);
        PostgresTransactionStore other = PostgresTransactionStore.create(manual);
        new Calls(other).serve(Calls.newKey(), context -> {
            try (Connection connection = other.dataSource().getConnection()) {
                assertThat(connection.getAutoCommit()).isFalse();
                execute(connection, "INSERT INTO effect VALUES ('committed')");
                connection.commit();
                execute(connection, "INSERT INTO effect VALUES ('not committed')");
            }
            return answer(201);
        });

        assertThat(DATABASE.query("SELECT string_agg(name, ' ') FROM effect WHERE name LIKE '%committed'"))
                .isEqualTo("committed");
        try (Connection connection = manual.getConnection()) {
            assertThat(connection.getAutoCommit()).isFalse();
        }
    }

    @Test
    void outsideOfProtectedRequestsConnectionsAreThePools() throws Exception {
        try (Connection connection = store.dataSource().getConnection()) {
            assertThat(connection.isWrapperFor(JoinedTransaction.Member.class)).isFalse();
            execute(connection, "INSERT INTO effect VALUES ('outside')");
        }

        assertThat(DATABASE.query("SELECT count(*) FROM effect WHERE name = 'outside'"))
                .isEqualTo(1L);
        assertThat(store.dataSource().unwrap(HikariDataSource.class)).isSameAs(pool);
        assertThat(store.dataSource().isWrapperFor(HikariDataSource.class)).isTrue();
        assertThat(JoinedDataSource.of(store.dataSource())).isSameAs(store.dataSource());
    }
}
