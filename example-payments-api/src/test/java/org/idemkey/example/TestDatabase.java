// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.UUID;
import org.idemkey.example.Settings.DatabaseAddress;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * A database of its own for a test class, as a static {@code @RegisterExtension}. All of them lie on one real server
 * per run: the one that {@code DATABASE_URL}, {@code DATABASE_USER} and {@code DATABASE_PASSWORD} name, else an embedded
 * one.
 */
final class TestDatabase implements BeforeAllCallback, AfterAllCallback {

    private final String name = "payments_" + UUID.randomUUID().toString().replace('-', '_');

    @Override
    public void beforeAll(ExtensionContext context) throws SQLException {
        execute(Server.ADDRESS, "CREATE DATABASE " + name);
    }

    @Override
    public void afterAll(ExtensionContext context) throws SQLException {
        execute(Server.ADDRESS, "DROP DATABASE IF EXISTS " + name + " WITH (FORCE)");
    }

    DatabaseAddress address() {
        String url = Server.ADDRESS.url().replaceFirst("/[^/?]*(\\?|$)", "/" + name + "$1");
        return new DatabaseAddress(url, Server.ADDRESS.user(), Server.ADDRESS.password());
    }

    /** A connection outside any pool, in auto-commit mode; the caller closes it. */
    Connection connect() throws SQLException {
        return connect(address());
    }

    static Connection connect(DatabaseAddress address) throws SQLException {
        return DriverManager.getConnection(address.url(), address.user(), address.password());
    }

    /** Runs one statement in a transaction of its own, and answers how many rows it touched. */
    int update(String sql, Object... parameters) {
        return update(address(), sql, parameters);
    }

    static int update(DatabaseAddress address, String sql, Object... parameters) {
        try (Connection connection = connect(address);
                PreparedStatement statement = connection.prepareStatement(sql)) {
            bind(statement, parameters);
            return statement.executeUpdate();
        } catch (SQLException e) {
            throw new IllegalStateException(sql, e);
        }
    }

    /** The number in the first column of the only row. */
    long count(String sql, Object... parameters) {
        return count(address(), sql, parameters);
    }

    static long count(DatabaseAddress address, String sql, Object... parameters) {
        try (Connection connection = connect(address);
                PreparedStatement statement = connection.prepareStatement(sql)) {
            bind(statement, parameters);
            try (ResultSet rows = statement.executeQuery()) {
                rows.next();
                return rows.getLong(1);
            }
        } catch (SQLException e) {
            throw new IllegalStateException(sql, e);
        }
    }

    private static void bind(PreparedStatement statement, Object... parameters) throws SQLException {
        for (int i = 0; i < parameters.length; i++) {
            statement.setObject(i + 1, parameters[i]);
        }
    }

    private static void execute(DatabaseAddress address, String sql) throws SQLException {
        try (Connection connection = connect(address);
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    /** Started once; an embedded one ends with the JVM. */
    private static final class Server {

        static final DatabaseAddress ADDRESS = start();

        private static DatabaseAddress start() {
            String given = System.getenv("DATABASE_URL");
            if (given != null && !given.isEmpty()) {
                return new DatabaseAddress(
                        given,
                        System.getenv().getOrDefault("DATABASE_USER", "postgres"),
                        System.getenv().getOrDefault("DATABASE_PASSWORD", ""));
            }
            try {
                EmbeddedPostgres server = EmbeddedPostgres.builder()
                        .setServerConfig("max_connections", "300")
                        .start();
                return new DatabaseAddress(server.getJdbcUrl("postgres", "postgres"), "postgres", "");
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
