// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.awaitility.Awaitility;
import org.idemkey.testpostgres.Connector;
import org.idemkey.testpostgres.PostgresDatabase;

/** A database with our tables in it and an empty table {@code effect (message text)}. */
final class TestDatabase extends PostgresDatabase {

    static {
        // Patience costs nothing where all is well, and a busy machine needs it.
        Awaitility.setDefaultTimeout(Duration.ofMinutes(1));
    }

    private HikariDataSource pool;
    // A new connection costs more than the rest of a test on a busy machine.
    private final Connector pooled = () -> pool.getConnection();

    TestDatabase() {
        super("idemkey_messaging");
    }

    @Override
    protected void fill() throws SQLException {
        pool = pool(new HikariConfig());
        MessagingSchema.create(pool);
        // No unique column: what is processed twice has to show.
        update("CREATE TABLE effect (message text NOT NULL)");
    }

    /** A pool of 20 that lives as long as the class. */
    HikariDataSource pool() {
        return pool;
    }

    /** A pool of 20 with other settings, closed after the class. */
    HikariDataSource pool(HikariConfig config) {
        config.setMinimumIdle(0);
        return pool(20, config);
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
                "TEST_DATABASE_USER", user(),
                "TEST_DATABASE_PASSWORD", password());
    }

    /** Empties all tables. */
    void clear() {
        update("TRUNCATE outbox, processed_message, effect");
    }

    @Override
    public int update(String sql, Object... parameters) {
        return pooled.update(sql, parameters);
    }

    @Override
    public List<Object> list(String sql, Object... parameters) {
        return pooled.list(sql, parameters);
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
}
