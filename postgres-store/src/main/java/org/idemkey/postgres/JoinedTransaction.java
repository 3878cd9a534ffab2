// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The one transaction of a protected request, the pooled connection that it runs on, and the handler's connections onto
 * it. All of them share one lock, so a thread that comes late finds them closed, and never touches what the pool has
 * handed to somebody else by then.
 */
final class JoinedTransaction implements JoinedRequest {

    private final ReentrantLock lock = new ReentrantLock();
    private final PooledConnection pooled;
    private final Units units;
    private final Set<JoinedConnection> connections = new LinkedHashSet<>();
    private boolean ended;

    /** Read without the lock: its holder is committing, which takes a bounded time. */
    private volatile boolean committing;

    private @Nullable Integer isolation;

    /**
     * Goes on with a transaction in which nothing of the handler's has run yet.
     *
     * @param rooted whether nothing at all has run in it; else the first savepoint is set
     */
    JoinedTransaction(PooledConnection pooled, boolean rooted) {
        this.pooled = pooled;
        units = new Units(pooled.connection(), rooted);
    }

    @Override
    public Connection connection() throws SQLException {
        enter();
        try {
            if (ended) {
                throw ended();
            }
            JoinedConnection connection =
                    new JoinedConnection(this, units, pooled.connection(), pooled.startsInAutoCommit());
            connections.add(connection);
            return connection.proxy();
        } finally {
            exit();
        }
    }

    static SQLException ended() {
        return new SQLException(
                "the protected request has ended, and its transaction with it", JoinedConnection.NO_CONNECTION);
    }

    /** What ends a transaction, with the connection in its handler's hands no more. */
    @FunctionalInterface
    interface Ending<T> {
        T on(Connection connection, String epilogue) throws SQLException;
    }

    /**
     * Ends the transaction by committing: what the handler's connections have not committed is undone first, and then
     * {@code ending} records and commits. Gives the connection back in any case.
     *
     * @param patience how long to wait for a thread that still executes something
     * @return what {@code ending} returns, null if the transaction had ended before
     * @throws SQLException what {@code ending} throws, or if it wasn't reached: nothing is committed then
     */
    <T> @Nullable T commit(Duration patience, Ending<T> ending) throws SQLException {
        if (!enterWithin(patience)) {
            if (!abandon()) {
                return null;
            }
            throw new SQLException("another thread still works on the request's connection", "55006");
        }
        try {
            if (ended) {
                return null;
            }
            committing = true;
            boolean done = false;
            try {
                for (JoinedConnection left : List.copyOf(connections)) {
                    pooled.bounded(connection -> {
                        left.close();
                        return left;
                    });
                }
                T result = pooled.bounded(connection -> ending.on(connection, units.epilogue()));
                done = true;
                return result;
            } finally {
                end(done);
            }
        } finally {
            exit();
        }
    }

    /**
     * Ends the transaction by undoing all of it, and gives the connection back. Never throws: a connection that can't
     * even roll back is closed, and its server does it then.
     *
     * @return whether it was still going on
     */
    boolean rollback(Duration patience) {
        if (!enterWithin(patience)) {
            return abandon();
        }
        try {
            boolean open = !ended;
            if (open) {
                end(false);
            }
            return open;
        } finally {
            exit();
        }
    }

    private void end(boolean committed) {
        ended = true;
        connections.forEach(JoinedConnection::end);
        connections.clear();
        pooled.giveBack(committed);
    }

    /**
     * Some thread holds the lock. If it executes a statement of the handler's, takes its connection away, whereupon that
     * fails; if it ends the transaction, waits for that.
     *
     * @return whether this has ended the transaction; if not, somebody else has
     */
    private boolean abandon() {
        boolean taken = !committing;
        if (taken) {
            pooled.abort();
        }
        lock.lock();
        try {
            boolean open = taken && !ended;
            if (open) {
                end(false);
            }
            return open;
        } finally {
            lock.unlock();
        }
    }

    private boolean enterWithin(Duration patience) {
        boolean interrupted = false;
        try {
            long deadline = System.nanoTime() + patience.toNanos();
            while (true) {
                try {
                    return lock.tryLock(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    void enter() {
        lock.lock();
    }

    void exit() {
        lock.unlock();
    }

    boolean hasEnded() {
        return ended;
    }

    /** What tells a connection's transaction, through any wrappers around it. */
    interface Member {
        JoinedTransaction transaction();
    }

    /** Whether a connection, however wrapped, is one of the handler's onto this transaction. */
    boolean owns(Connection connection) throws SQLException {
        return connection.isWrapperFor(Member.class)
                && connection.unwrap(Member.class).transaction() == this;
    }

    void closed(JoinedConnection connection) {
        connections.remove(connection);
    }

    /** The level that the whole transaction has; asked once. */
    int isolation() throws SQLException {
        Integer known = isolation;
        if (known == null) {
            known = pooled.connection().getTransactionIsolation();
            isolation = known;
        }
        return known;
    }
}
