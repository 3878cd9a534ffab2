// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static java.util.Objects.requireNonNull;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.time.Duration;
import javax.sql.DataSource;
import org.idemkey.IdempotencyStoreException;
import org.jspecify.annotations.Nullable;

/**
 * Runs work on one pooled connection as one transaction, and reads SQLSTATEs. A connection is given back as it was
 * found: auto-commit is never switched, and nothing is left open on it.
 */
final class Jdbc {

    private final DataSource dataSource;
    private final @Nullable Duration timeout;

    /** Waits for the database as long as pool and driver are told to. */
    Jdbc(DataSource dataSource) {
        this(dataSource, null);
    }

    /** Waits for an answer no longer than {@code timeout}, even where the driver's {@code socketTimeout} is unset. */
    Jdbc(DataSource dataSource, @Nullable Duration timeout) {
        this.dataSource = requireNonNull(dataSource, "dataSource");
        this.timeout = timeout;
    }

    /** What is done with a connection. In auto-commit mode each of its statements is a transaction. */
    @FunctionalInterface
    interface Work<T> {
        T on(Connection connection) throws SQLException;
    }

    /**
     * Takes a connection, does the work, commits where the connection doesn't do so by itself, gives it back.
     *
     * @throws UnconnectedException if no connection could be had, so that nothing was sent
     */
    <T> T call(Work<T> work) throws SQLException {
        try (Connection connection = connect()) {
            int before = limitWaiting(connection);
            try {
                return inTransaction(connection, work);
            } finally {
                stopLimiting(connection, before);
            }
        }
    }

    private Connection connect() throws SQLException {
        try {
            return dataSource.getConnection();
        } catch (SQLException | RuntimeException e) {
            // Some pools report a database that is away when they start by an exception of their own.
            throw new UnconnectedException(e);
        }
    }

    private static <T> T inTransaction(Connection connection, Work<T> work) throws SQLException {
        if (connection.getAutoCommit()) {
            return work.on(connection);
        }
        T result;
        try {
            result = work.on(connection);
        } catch (Throwable e) {
            try {
                connection.rollback();
            } catch (SQLException more) {
                e.addSuppressed(more);
            }
            throw e;
        }
        connection.commit();
        return result;
    }

    private int limitWaiting(Connection connection) throws SQLException {
        if (timeout == null) {
            return -1;
        }
        try {
            int before = connection.getNetworkTimeout();
            int millis = (int) Math.min(Integer.MAX_VALUE, timeout.toMillis());
            if (before > 0 && before <= millis) {
                return -1;
            }
            connection.setNetworkTimeout(Runnable::run, millis);
            return before;
        } catch (SQLFeatureNotSupportedException e) {
            // Then the driver's own time-outs are all there is.
            return -1;
        }
    }

    private static void stopLimiting(Connection connection, int before) {
        try {
            if (before >= 0 && !connection.isClosed()) {
                connection.setNetworkTimeout(Runnable::run, before);
            }
        } catch (SQLException e) {
            // The connection has just broken. The work's own outcome matters, and the pool will see for itself.
        }
    }

    /**
     * Whether somebody else was faster, so that the same transaction may be tried anew: a unique violation, a
     * serialization failure, a deadlock, or an object created twice.
     */
    static boolean isLostRace(SQLException e) {
        String state = state(e);
        return state.equals("23505")
                || state.equals("40001")
                || state.equals("40P01")
                || state.equals("42P07")
                || state.equals("42710");
    }

    /** Whether a row was locked for longer than we were ready to wait: somebody is claiming, or confirming. */
    static boolean isLockTimeout(SQLException e) {
        return state(e).equals("55P03");
    }

    /** Whether the connection broke under a statement, so that nobody knows what became of it. */
    static boolean isBroken(SQLException e) {
        String state = state(e);
        return !(e instanceof UnconnectedException)
                && (state.startsWith("08") || state.equals("57P01") || state.equals("57P02") || state.equals("57P03"));
    }

    /** Whether the fault is the connection's, or that there was none: no statement would have fared better on it. */
    static boolean hasNoConnection(SQLException e) {
        return isBroken(e) || e instanceof UnconnectedException;
    }

    /** Whether the database will refuse this very value whenever it is asked. */
    static boolean isDataError(SQLException e) {
        return state(e).startsWith("22");
    }

    /**
     * The exception for a caller who knows no SQL.
     *
     * @param what what could not be done, without a raw key
     */
    static IdempotencyStoreException failure(String what, SQLException e) {
        String state = state(e);
        // A violated constraint tells the row's key in its detail, and whoever logs us logs our cause.
        Throwable cause = state.startsWith("23") ? new SQLException("a constraint was violated", state) : e;
        return new IdempotencyStoreException(what + " (SQLSTATE " + (state.isEmpty() ? "none" : state) + ")", cause);
    }

    private static String state(SQLException e) {
        String state = e.getSQLState();
        return state == null ? "" : state;
    }

    /** There was no connection: the pool is exhausted, or the database away. */
    static final class UnconnectedException extends SQLException {

        private static final long serialVersionUID = 1L;

        UnconnectedException(Exception cause) {
            super("no connection", cause instanceof SQLException e ? e.getSQLState() : null, cause);
        }
    }
}
