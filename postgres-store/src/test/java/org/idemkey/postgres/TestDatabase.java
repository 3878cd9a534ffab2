// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.idemkey.testpostgres.PostgresDatabase;

/** A database with the key table, empty. */
final class TestDatabase extends PostgresDatabase {

    private HikariDataSource pool;

    TestDatabase() {
        this("");
    }

    /** With options of {@code CREATE DATABASE}. */
    TestDatabase(String options) {
        super("idemkey", options);
    }

    @Override
    protected void fill() throws SQLException {
        // Long enough for any machine: what is waited for happens, or the test is red.
        Awaitility.setDefaultTimeout(Duration.ofMinutes(2));
        pool = pool(16);
        PostgresSchema.create(pool);
    }

    /** A pool of 16 that lives as long as the class. */
    HikariDataSource pool() {
        return pool;
    }

    /** A pool of that size with HikariCP's defaults, closed after the class. */
    HikariDataSource pool(int size) {
        return pool(size, new HikariConfig());
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
}
