// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A PostgreSQL server and, on it, a schema of our own that is dropped in the end: the server that {@code DATABASE_URL},
 * {@code DATABASE_USER} and {@code DATABASE_PASSWORD} name, else an embedded one. Never one that loses commits.
 */
final class Database implements AutoCloseable {

    private final String schema =
            "idemkey_benchmark_" + UUID.randomUUID().toString().replace("-", "");
    private final List<HikariDataSource> pools = new ArrayList<>();
    private final @Nullable EmbeddedPostgres embedded;
    private final String url;
    private final String user;
    private final String password;

    private Database(@Nullable EmbeddedPostgres embedded, String url, String user, String password) {
        this.embedded = embedded;
        this.url = url;
        this.user = user;
        this.password = password;
    }

    static Database open() {
        return open(false);
    }

    /** With {@code pg_stat_statements}, which a given server has to have loaded. */
    static Database openToProfile() {
        return open(true);
    }

    private static Database open(boolean profiled) {
        Map<String, String> environment = System.getenv();
        String given = environment.getOrDefault("DATABASE_URL", "");
        Database database = given.isEmpty()
                ? embedded(profiled)
                : new Database(
                        null,
                        given,
                        environment.getOrDefault("DATABASE_USER", "postgres"),
                        environment.getOrDefault("DATABASE_PASSWORD", ""));
        try {
            database.requireDurability();
            database.execute("CREATE SCHEMA " + database.schema);
        } catch (Throwable e) {
            database.stop();
            throw e;
        }
        return database;
    }

    private static Database embedded(boolean profiled) {
        try {
            EmbeddedPostgres server = EmbeddedPostgres.builder()
                    // The embedded server is made for tests: by itself it starts with -F and without waiting for the
                    // disk. All else is as PostgreSQL sets it.
                    .setServerConfig("fsync", "on")
                    .setServerConfig("synchronous_commit", "on")
                    .setServerConfig("full_page_writes", "on")
                    .setServerConfig("shared_preload_libraries", profiled ? "pg_stat_statements" : "")
                    .start();
            return new Database(
                    server, "jdbc:postgresql://localhost:" + server.getPort() + "/postgres", "postgres", "postgres");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void requireDurability() {
        for (String setting : List.of("fsync", "synchronous_commit", "full_page_writes")) {
            if (text("SELECT current_setting('" + setting + "')").equals("off")) {
                throw new IllegalStateException(setting + " is off: such a server measures nothing worth knowing");
            }
        }
    }

    /** A pool of that size with HikariCP's defaults, closed with the database. */
    HikariDataSource pool(int size) {
        HikariDataSource made = new HikariDataSource(config(size));
        pools.add(made);
        return made;
    }

    private HikariConfig config(int size) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setUsername(user);
        config.setPassword(password);
        config.setMaximumPoolSize(size);
        config.addDataSourceProperty("currentSchema", schema);
        return config;
    }

    /** Runs statements, each in a transaction of its own unless the text says otherwise. */
    void execute(String sql) {
        withStatement(statement -> statement.execute(sql));
    }

    /** The number in the first column of the first row. */
    long number(String sql) {
        return Long.parseLong(text(sql));
    }

    /** The text in the first column of the first row. */
    String text(String sql) {
        return withStatement(statement -> {
            try (ResultSet rows = statement.executeQuery(sql)) {
                rows.next();
                return rows.getString(1);
            }
        });
    }

    /** For the report: {@code PostgreSQL 18.4}. */
    String version() {
        return "PostgreSQL " + text("SHOW server_version").replaceFirst(" .*", "");
    }

    private <T> T withStatement(Work<T> work) {
        HikariConfig config = config(1);
        try (Connection connection = DriverManager.getConnection(config.getJdbcUrl(), properties(config));
                Statement statement = connection.createStatement()) {
            return work.on(statement);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Properties properties(HikariConfig config) {
        Properties properties = new Properties();
        properties.putAll(config.getDataSourceProperties());
        properties.put("user", config.getUsername());
        properties.put("password", config.getPassword());
        return properties;
    }

    @FunctionalInterface
    private interface Work<T> {
        T on(Statement statement) throws SQLException;
    }

    @Override
    public void close() {
        pools.forEach(HikariDataSource::close);
        if (embedded == null) {
            execute("DROP SCHEMA " + schema + " CASCADE");
        }
        stop();
    }

    private void stop() {
        if (embedded != null) {
            try {
                embedded.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
