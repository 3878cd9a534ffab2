// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

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
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * A database of its own for a test class, as a static {@code @RegisterExtension}. All of them lie on one real server
 * per run: the one that {@code DATABASE_URL}, {@code DATABASE_USER} and {@code DATABASE_PASSWORD} name, else an embedded
 * one. The key table is there, empty.
 */
final class TestDatabase implements BeforeAllCallback, AfterAllCallback {

    private final String name = "idemkey_" + UUID.randomUUID().toString().replace('-', '_');
    private final List<HikariDataSource> pools = new ArrayList<>();
    private final String options;
    private HikariDataSource pool;

    TestDatabase() {
        this("");
    }

    /** With options of {@code CREATE DATABASE}. */
    TestDatabase(String options) {
        this.options = options;
    }

    @Override
    public void beforeAll(ExtensionContext context) throws SQLException {
        // Long enough for any machine: what is waited for happens, or the test is red.
        Awaitility.setDefaultTimeout(Duration.ofMinutes(2));
        try (Connection admin = Server.INSTANCE.connect(Server.INSTANCE.url);
                Statement statement = admin.createStatement()) {
            statement.execute("CREATE DATABASE " + name + " " + options);
        }
        pool = pool(16);
        PostgresSchema.create(pool);
    }

    @Override
    public void afterAll(ExtensionContext context) throws SQLException {
        pools.forEach(HikariDataSource::close);
        try (Connection admin = Server.INSTANCE.connect(Server.INSTANCE.url);
                Statement statement = admin.createStatement()) {
            statement.execute("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)");
        }
    }

    /** A pool of 16 that lives as long as the class. */
    HikariDataSource pool() {
        return pool;
    }

    /** A pool of that size with HikariCP's defaults, closed after the class. */
    HikariDataSource pool(int size) {
        return pool(size, new HikariConfig());
    }

    /** A pool of that size with other settings. */
    HikariDataSource pool(int size, HikariConfig config) {
        if (config.getJdbcUrl() == null) {
            config.setJdbcUrl(url());
        }
        config.setUsername(user());
        config.setPassword(password());
        config.setMaximumPoolSize(size);
        HikariDataSource made = new HikariDataSource(config);
        pools.add(made);
        return made;
    }

    /** A connection outside any pool, in auto-commit mode; the caller closes it. */
    Connection connect() throws SQLException {
        return Server.INSTANCE.connect(url());
    }

    /** The database's JDBC URL, without user and password. */
    String url() {
        return Server.INSTANCE.url.replaceFirst("/[^/?]*(\\?|$)", "/" + name + "$1");
    }

    String user() {
        return Server.INSTANCE.user;
    }

    String password() {
        return Server.INSTANCE.password;
    }

    /** Runs one statement in a transaction of its own, and answers how many rows it touched. */
    int update(String sql, Object... parameters) {
        try (Connection connection = connect();
                PreparedStatement statement = connection.prepareStatement(sql)) {
            bind(statement, parameters);
            return statement.executeUpdate();
        } catch (SQLException e) {
            throw new IllegalStateException(sql, e);
        }
    }

    /** The first column of the first row, null where there is none. */
    Object query(String sql, Object... parameters) {
        try (Connection connection = connect();
                PreparedStatement statement = connection.prepareStatement(sql)) {
            bind(statement, parameters);
            try (ResultSet rows = statement.executeQuery()) {
                return rows.next() ? rows.getObject(1) : null;
            }
        } catch (SQLException e) {
            throw new IllegalStateException(sql, e);
        }
    }

    /** Lets time pass for every key, by moving the instants in its row back. */
    void elapse(Duration time) {
        update(
                "UPDATE idempotency_key SET created_at = created_at - ? * interval '1 ms',"
                        + " lease_until = lease_until - ? * interval '1 ms', expires_at = expires_at - ? * interval '1 ms'",
                time.toMillis(),
                time.toMillis(),
                time.toMillis());
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
                        .setServerConfig("max_connections", "300")
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
