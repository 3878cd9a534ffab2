// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.locks.ReentrantLock;
import org.idemkey.IdempotencyKey;
import org.idemkey.Lease;
import org.jspecify.annotations.Nullable;

/** A committed claim, and the transaction that its handler opens by taking the first connection. */
final class JoinedLease implements Lease, JoinedRequest {

    private final Lease row;
    private final JoinedDataSource dataSource;
    private final Duration timeout;
    private final ReentrantLock lock = new ReentrantLock();
    private @Nullable JoinedTransaction transaction;
    private boolean ended;

    JoinedLease(Lease row, JoinedDataSource dataSource, Duration timeout) {
        this.row = row;
        this.dataSource = dataSource;
        this.timeout = timeout;
    }

    /** The claim as it is in the table. */
    Lease row() {
        return row;
    }

    @Override
    public IdempotencyKey key() {
        return row.key();
    }

    @Override
    public UUID token() {
        return row.token();
    }

    @Override
    public int attempt() {
        return row.attempt();
    }

    @Override
    public Connection connection() throws SQLException {
        lock.lock();
        try {
            if (ended) {
                throw JoinedTransaction.ended();
            }
            return open().connection();
        } finally {
            lock.unlock();
        }
    }

    private JoinedTransaction open() throws SQLException {
        JoinedTransaction opened = transaction;
        if (opened == null) {
            opened = new JoinedTransaction(PooledConnection.take(dataSource.pool(), timeout, () -> {}), true);
            transaction = opened;
        }
        return opened;
    }

    @Override
    public Binding bind() {
        return dataSource.bind(this);
    }

    @Override
    public void detach() {
        dataSource.requireChoice();
    }

    /**
     * On a connection that joins the request's transaction there is nothing to do, since its commit checks the claim. Any
     * other one leaves the mark, after which a lapse is an unknown outcome with a confirmed effect.
     */
    @Override
    public void confirm(Connection connection) throws SQLException {
        JoinedTransaction opened;
        lock.lock();
        try {
            opened = ended ? null : transaction;
        } finally {
            lock.unlock();
        }
        if (opened == null || !opened.owns(connection)) {
            row.confirm(connection);
        }
    }

    /**
     * Takes the transaction out of the handler's hands, opening one if it has none.
     *
     * @return null if the lease had ended before
     * @throws SQLException if no connection could be had; the lease has ended all the same
     */
    @Nullable
    JoinedTransaction endToCommit() throws SQLException {
        lock.lock();
        try {
            if (ended) {
                return null;
            }
            ended = true;
            return open();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Takes the transaction out of the handler's hands and undoes it.
     *
     * @return whether the lease had not ended before
     */
    boolean endUndoing() {
        lock.lock();
        try {
            if (ended) {
                return false;
            }
            ended = true;
            if (transaction != null) {
                transaction.rollback(timeout);
            }
            return true;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public String toString() {
        return row.toString();
    }
}
