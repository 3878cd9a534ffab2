// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.sql.DataSource;

/** A connection on loan from the pool for one transaction, given back once and as it was found. */
final class PooledConnection {

    private final Connection connection;
    private final boolean autoCommit;
    private final Duration timeout;
    private final Runnable returned;
    private final AtomicBoolean given = new AtomicBoolean();

    private PooledConnection(Connection connection, boolean autoCommit, Duration timeout, Runnable returned) {
        this.connection = connection;
        this.autoCommit = autoCommit;
        this.timeout = timeout;
        this.returned = returned;
    }

    /**
     * Takes a connection out of the pool and switches auto-commit off, which sends nothing.
     *
     * @param timeout how long an answer is waited for in {@link #bounded} work, even where the driver knows no limit
     * @param returned what else is free once the connection is back; not run where this method throws
     */
    static PooledConnection take(DataSource pool, Duration timeout, Runnable returned) throws SQLException {
        Connection connection = pool.getConnection();
        try {
            boolean autoCommit = connection.getAutoCommit();
            if (autoCommit) {
                connection.setAutoCommit(false);
            }
            return new PooledConnection(connection, autoCommit, timeout, returned);
        } catch (Throwable e) {
            try {
                connection.close();
            } catch (SQLException more) {
                e.addSuppressed(more);
            }
            throw e;
        }
    }

    Connection connection() {
        return connection;
    }

    /** What the application sees when it takes a connection from this pool. */
    boolean startsInAutoCommit() {
        return autoCommit;
    }

    /** What is done with the connection. */
    @FunctionalInterface
    interface Work<T> {
        T on(Connection connection) throws SQLException;
    }

    /** Does work that waits no longer than the time-out for an answer. Sends nothing itself. */
    <T> T bounded(Work<T> work) throws SQLException {
        int before = limitWaiting();
        try {
            return work.on(connection);
        } finally {
            if (before >= 0 && !connection.isClosed()) {
                connection.setNetworkTimeout(Runnable::run, before);
            }
        }
    }

    /** Does bounded work whose SQL text begins the transaction, in place of the driver. */
    <T> T beginning(Work<T> work) throws SQLException {
        connection.setAutoCommit(true);
        try {
            return bounded(work);
        } finally {
            if (!connection.isClosed()) {
                connection.setAutoCommit(false);
            }
        }
    }

    private int limitWaiting() throws SQLException {
        try {
            int before = connection.getNetworkTimeout();
            int millis = (int) Math.min(Integer.MAX_VALUE, timeout.toMillis());
            if (before > 0 && before <= millis) {
                return -1;
            }
            connection.setNetworkTimeout(Runnable::run, millis);
            return before;
        } catch (SQLFeatureNotSupportedException e) {
            return -1;
        }
    }

    /** Closes the socket under whatever is going on. */
    void abort() {
        try {
            connection.abort(Runnable::run);
        } catch (SQLException e) {
            // Then its own time-outs end it.
        }
    }

    /** Gives the connection back; a second time does nothing. Never throws. */
    void giveBack(boolean committed) {
        if (!given.compareAndSet(false, true)) {
            return;
        }
        try {
            restore(committed);
        } catch (SQLException e) {
            // It is of no use to anybody: whatever runs on it is rolled back by its server.
            abort();
        }
        try {
            connection.close();
        } catch (SQLException e) {
            // The pool's affair.
        } finally {
            returned.run();
        }
    }

    private void restore(boolean committed) throws SQLException {
        if (!committed) {
            bounded(open -> {
                open.rollback();
                return true;
            });
        }
        if (autoCommit) {
            connection.setAutoCommit(true);
        }
    }
}
