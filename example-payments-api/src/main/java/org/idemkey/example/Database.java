// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Properties;
import java.util.Set;
import javax.sql.DataSource;
import org.idemkey.example.Settings.DatabaseAddress;

/** How this service deals with PostgreSQL: pools whose every wait is bounded, its tables, and what counts as away. */
final class Database {

    /** How long a request waits for a connection of the pool. */
    private static final Duration POOL_PATIENCE = Duration.ofSeconds(3);

    /** How long the pool waits for a sign of life from a connection before it gives it up. */
    private static final Duration VALIDATION_PATIENCE = Duration.ofSeconds(1);

    /** How long a new connection may take. */
    private static final Duration CONNECT_PATIENCE = Duration.ofSeconds(2);

    /** How long the server may be silent while it is expected to answer; the driver waits for ever unless told. */
    private static final Duration ANSWER_PATIENCE = Duration.ofSeconds(5);

    /**
     * Classes of SQLSTATE (the first two characters) that tell of the server's condition, not of a statement's:
     * connection, resources, operator intervention, system error.
     */
    private static final Set<String> OUTAGE_CLASSES = Set.of("08", "53", "57", "58");

    /** What a server says that takes no writes, as a standby does after a failover. */
    private static final String READ_ONLY = "25006";

    /** "Transaction resolution unknown". A second try could be one too many, so it is no mere outage. */
    private static final String COMMIT_UNKNOWN = "08007";

    /** Two instances that start at once on one database create the tables one after the other: "payments" in ASCII. */
    private static final long SCHEMA_LOCK = 0x7061796d656e7473L;

    private Database() {}

    /**
     * Connects once, so that a wrong address is told of in words.
     *
     * @throws StartupException if that fails
     */
    static void check(DatabaseAddress address) throws StartupException {
        try {
            DriverManager.getConnection(address.url(), properties("start", address))
                    .close();
        } catch (SQLException e) {
            throw new StartupException("the database of DATABASE_URL can't be reached: " + e.getMessage(), e);
        }
    }

    /** A pool of connections. Connections are made when they are wanted, so the server may be away meanwhile. */
    static HikariDataSource pool(String name, int size, DatabaseAddress address) {
        HikariConfig config = new HikariConfig();
        config.setPoolName(name);
        config.setMaximumPoolSize(size);
        config.setInitializationFailTimeout(-1);
        config.setConnectionTimeout(POOL_PATIENCE.toMillis());
        config.setValidationTimeout(VALIDATION_PATIENCE.toMillis());
        config.setJdbcUrl(address.url());
        config.setDataSourceProperties(properties(name, address));
        return new HikariDataSource(config);
    }

    private static Properties properties(String part, DatabaseAddress address) {
        // What the URL says itself wins over these.
        Properties properties = new Properties();
        properties.setProperty("ApplicationName", "payments-api " + part);
        properties.setProperty("connectTimeout", Long.toString(CONNECT_PATIENCE.toSeconds()));
        properties.setProperty("loginTimeout", Long.toString(CONNECT_PATIENCE.toSeconds()));
        properties.setProperty("socketTimeout", Long.toString(ANSWER_PATIENCE.toSeconds()));
        properties.setProperty("tcpKeepAlive", "true");
        if (address.user() != null) {
            properties.setProperty("user", address.user());
        }
        if (address.password() != null) {
            properties.setProperty("password", address.password());
        }
        return properties;
    }

    /** Creates this service's own tables where they aren't there yet. */
    static void createTables(DataSource dataSource) throws SQLException {
        try (Connection connection = dataSource.getConnection();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            // CREATE … IF NOT EXISTS isn't safe against another one at the same moment.
            statement.execute("SELECT pg_advisory_xact_lock(" + SCHEMA_LOCK + ")");
            statement.execute(resource("payments.sql"));
            connection.commit();
        }
    }

    private static String resource(String name) {
        try (InputStream in = Database.class.getResourceAsStream(name)) {
            if (in == null) {
                throw new IllegalStateException("no resource " + name);
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Commits.
     *
     * @param what was written, for the message
     * @throws SQLException with SQLSTATE 08007 if nobody knows whether it is committed
     */
    static void commit(Connection connection, String what) throws SQLException {
        try {
            connection.commit();
        } catch (SQLException e) {
            throw new SQLException("the commit of a " + what + " got no answer", COMMIT_UNKNOWN, e);
        }
    }

    /**
     * Whether the database was out of reach, or in no condition to work, and nothing was done: trying again later may
     * help.
     */
    static boolean isOutage(SQLException failure) {
        String state = failure.getSQLState();
        if (state == null || state.length() != 5) {
            return failure instanceof SQLTransientConnectionException;
        }
        return !state.equals(COMMIT_UNKNOWN)
                && (OUTAGE_CLASSES.contains(state.substring(0, 2)) || state.equals(READ_ONLY));
    }
}
