// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * A database of its own for a test class, as a static {@code @RegisterExtension}, with our tables in it and an empty
 * table {@code effect (message text)}. All of them lie on one real server per run: the one that {@code DATABASE_URL},
 * {@code DATABASE_USER} and {@code DATABASE_PASSWORD} name, else an embedded one.
 */
final class TestDatabase implements BeforeAllCallback, AfterAllCallback {

    static {
        // Patience costs nothing where all is well, and a busy machine needs it.
        Awaitility.setDefaultTimeout(Duration.ofMinutes(1));
    }

    private final String name =
            "idemkey_messaging_" + UUID.randomUUID().toString().replace('-', '_');
    private final List<HikariDataSource> pools = new ArrayList<>();
    private HikariDataSource pool;

    @Override
    public void beforeAll(ExtensionContext context) throws SQLException {
        try (Connection admin = Server.INSTANCE.connect(Server.INSTANCE.url);
                Statement statement = admin.createStatement()) {
            statement.execute("CREATE DATABASE " + name);
        }
        pool = pool(new HikariConfig());
        MessagingSchema.create(pool);
        // No unique column: what is processed twice has to show.
        update("CREATE TABLE effect (message text NOT NULL)");
    }

    @Override
    public void afterAll(ExtensionContext context) throws SQLException {
        pools.forEach(HikariDataSource::close);
        try (Connection admin = Server.INSTANCE.connect(Server.INSTANCE.url);
                Statement statement = admin.createStatement()) {
            statement.execute("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)");
        }
    }

    /** A pool of 20 that lives as long as the class. */
    HikariDataSource pool() {
        return pool;
    }

    /** A pool of 20 with other settings, closed after the class. */
    HikariDataSource pool(HikariConfig config) {
        config.setJdbcUrl(url());
        config.setUsername(Server.INSTANCE.user);
        config.setPassword(Server.INSTANCE.password);
        config.setMaximumPoolSize(20);
        config.setMinimumIdle(0);
        HikariDataSource made = new HikariDataSource(config);
        pools.add(made);
        return made;
    }

    /** A connection outside any pool, in auto-commit mode; the caller closes it. */
    Connection connect() throws SQLException {
        return Server.INSTANCE.connect(url());
    }

    /** A connection outside any pool, with a transaction open as soon as it is used. */
    Connection begin() throws SQLException {
        Connection connection = connect();
        connection.setAutoCommit(false);
        return connection;
    }

    /** What a child process needs to find this database, as {@code TEST_DATABASE_...} variables. */
    Map<String, String> environment() {
        return Map.of(
                "TEST_DATABASE_URL", url(),
                "TEST_DATABASE_USER", Server.INSTANCE.user,
                "TEST_DATABASE_PASSWORD", Server.INSTANCE.password);
    }

    private String url() {
        return Server.INSTANCE.url.replaceFirst("/[^/?]*(\\?|$)", "/" + name + "$1");
    }

    /** Empties all tables. */
    void clear() {
        update("TRUNCATE outbox, processed_message, effect");
    }

    /** Runs one statement in a transaction of its own, and answers how many rows it touched. */
    int update(String sql, Object... parameters) {
        // Pooled: a new connection costs more than the rest of a test on a busy machine.
        try (Connection connection = pool.getConnection();
                PreparedStatement statement = connection.prepareStatement(sql)) {
            bind(statement, parameters);
            return statement.executeUpdate();
        } catch (SQLException e) {
            throw new IllegalStateException(sql, e);
        }
    }

    /** The first column of all rows. */
    List<Object> list(String sql, Object... parameters) {
        try (Connection connection = pool.getConnection();
                PreparedStatement statement = connection.prepareStatement(sql)) {
            bind(statement, parameters);
            List<Object> values = new ArrayList<>();
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    values.add(rows.getObject(1));
                }
            }
            return values;
        } catch (SQLException e) {
            throw new IllegalStateException(sql, e);
        }
    }

    /** The number in the first column of the only row. */
    long count(String sql, Object... parameters) {
        return ((Number) list(sql, parameters).get(0)).longValue();
    }

    /** How many events are in the outbox and not marked as published. */
    long unpublished() {
        return count("SELECT count(*) FROM outbox WHERE published_at IS NULL");
    }

    /** How many sessions of this database wait for a lock. */
    long waiting() {
        return count("SELECT count(*) FROM pg_stat_activity"
                + " WHERE datname = current_database() AND wait_event_type = 'Lock'");
    }

    private static void bind(PreparedStatement statement, Object... parameters) throws SQLException {
        for (int i = 0; i < parameters.length; i++) {
            statement.setObject(i + 1, parameters[i]);
        }
    }

    /** Started once, stopped with the JVM. */
    private static final class Server {

        static final Server INSTANCE = start();

        final String url;
        final String user;
        final String password;

        private Server(String url, String user, String password) {
            this.url = url;
            this.user = user;
            this.password = password;
        }

        private static Server start() {
            String given = System.getenv("DATABASE_URL");
            if (given != null && !given.isEmpty()) {
                return new Server(
                        given,
                        System.getenv().getOrDefault("DATABASE_USER", "postgres"),
                        System.getenv().getOrDefault("DATABASE_PASSWORD", ""));
            }
            try {
                // The server ends with the JVM, by zonky's own shutdown hook.
                EmbeddedPostgres server = EmbeddedPostgres.builder()
                        .setServerConfig("max_connections", "200")
                        .start();
                return new Server(
                        "jdbc:postgresql://localhost:" + server.getPort() + "/postgres", "postgres", "postgres");
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        Connection connect(String url) throws SQLException {
            return DriverManager.getConnection(url, user, password);
        }
    }
}
