// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static java.util.Objects.requireNonNull;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import javax.sql.DataSource;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore;
import org.idemkey.IdempotencyStoreException;
import org.idemkey.Lease;
import org.idemkey.StoredResponse;
import org.idemkey.Terms;

/**
 * Keeps keys by leases, and commits the handler's effects, the response and the check of the claim together: for
 * handlers that call slow third parties before they touch the database.
 *
 * <p>The claim is committed first and holds no connection. The first connection that the handler takes from
 * {@link #dataSource()} opens the transaction, and the completion records the response in it and commits, if the claim
 * is still the lease's. So a lease that lapsed means that nothing was committed, and the next claim acquires the key by
 * itself, with {@code attempt + 1}: no outcome in the database is ever unknown. What a handler did elsewhere it may do
 * again then, so it passes on a downstream key.
 *
 * <p>Leases are renewed in the background, as {@link PostgresLeaseStore} does. Thread-safe; close it after the adapters
 * that use it.
 */
public final class PostgresJoinedLeaseStore implements IdempotencyStore, AutoCloseable {

    private static final long PAUSE = Duration.ofMillis(20).toNanos();

    private final JoinedDataSource dataSource;
    private final PostgresLeaseStore leases;
    private final KeyTable table;
    private final Jdbc jdbc;
    private final Duration timeout;
    private final String record;

    private PostgresJoinedLeaseStore(Builder builder) {
        dataSource = JoinedDataSource.of(builder.dataSource);
        leases = builder.leases.build();
        table = new KeyTable(builder.table, builder.lockTimeout);
        timeout = builder.timeout;
        jdbc = new Jdbc(dataSource.pool(), timeout);
        // Where the claim isn't ours any more, the division fails and aborts the transaction, and the commit behind it
        // isn't executed: check and commit take one round trip.
        record = "SET LOCAL lock_timeout = " + builder.lockTimeout.toMillis()
                + ";WITH recorded AS (UPDATE " + builder.table.sql()
                + " SET response_code = ?, response_headers = CAST(? AS jsonb), response_body = ?"
                + " WHERE scope = ? AND key = ? AND claim_token = ? AND response_code IS NULL RETURNING 1)"
                + " SELECT 1 / count(*) FROM recorded;COMMIT";
    }

    /**
     * Starts with the defaults that each of the builder's methods tells.
     *
     * @param dataSource the pool of the application's database, or the {@link JoinedDataSource} over it that several
     *     stores share
     */
    public static Builder builder(DataSource dataSource) {
        return new Builder(dataSource);
    }

    /** A store with the defaults, over a pool or a {@link JoinedDataSource}. */
    public static PostgresJoinedLeaseStore create(DataSource dataSource) {
        return builder(dataSource).build();
    }

    /** Where handlers take their connections from, so that what they write commits with the key. */
    public JoinedDataSource dataSource() {
        return dataSource;
    }

    @Override
    public boolean isTransactional() {
        return true;
    }

    @Override
    public Claim claim(IdempotencyKey key, Fingerprint fingerprint, Terms terms) {
        return joined(leases.claim(key, fingerprint, terms, true));
    }

    @Override
    public Claim takeOver(Lease stale, Fingerprint fingerprint, Terms terms) {
        return joined(leases.takeOver(stale, fingerprint, terms, true));
    }

    private Claim joined(Claim claim) {
        return claim instanceof Claim.Acquired acquired
                ? new Claim.Acquired(new JoinedLease(acquired.lease(), dataSource, timeout))
                : claim;
    }

    @Override
    public Completion complete(Lease lease, StoredResponse response) {
        if (!(lease instanceof JoinedLease own)) {
            return leases.complete(lease, response);
        }
        boolean[] begun = new boolean[1];
        try {
            JoinedTransaction transaction = own.endToCommit();
            Completion recorded = transaction == null
                    ? null
                    : transaction.commit(timeout, (connection, epilogue) -> {
                        begun[0] = true;
                        Commit.insist(
                                connection,
                                epilogue,
                                own.key(),
                                start -> record(connection, start + record, own, response));
                        return Completion.RECORDED;
                    });
            leases.forget(own);
            return recorded == null ? Completion.LOST : recorded;
        } catch (SQLException e) {
            return afterFailure(own, e, !begun[0] || Commit.isRefusal(e));
        }
    }

    private static void record(Connection connection, String sql, JoinedLease lease, StoredResponse response)
            throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            int next = Rows.bindResponse(statement, 1, response);
            statement.setString(next, lease.key().scope().value());
            statement.setString(next + 1, lease.key().value());
            statement.setObject(next + 2, lease.token());
            statement.execute();
        }
    }

    /**
     * Frees the claim, unless the commit has come through after all. That waits for a commit which is still going on, as
     * its row is locked, and stops one that is still on its way, as its claim will be gone. So it tells what happened.
     *
     * @param refused whether nothing was committed for certain
     */
    private Completion afterFailure(JoinedLease lease, SQLException cause, boolean refused) {
        long deadline = System.nanoTime() + timeout.toNanos();
        while (true) {
            try {
                boolean freed = jdbc.call(c -> table.release(c, lease.key(), lease.token()));
                leases.forget(lease);
                if (freed && refused) {
                    break;
                }
                return !freed && jdbc.call(c -> table.isRecorded(c, lease.key(), lease.token()))
                        ? Completion.RECORDED
                        : Completion.LOST;
            } catch (SQLException e) {
                cause.addSuppressed(e);
            }
            if (System.nanoTime() - deadline >= 0) {
                leases.releaseLater(lease);
                break;
            }
            LockSupport.parkNanos(PAUSE);
        }
        throw refused
                ? Jdbc.failure("a response could not be recorded, and its handler's effects are undone", cause)
                : new IdempotencyStoreException("how a commit ended could not be found out", cause);
    }

    @Override
    public boolean release(Lease lease) {
        if (lease instanceof JoinedLease own) {
            return own.endUndoing() && leases.release(own.row());
        }
        return leases.release(lease);
    }

    @Override
    public int purgeExpired(int limit) {
        return leases.purgeExpired(limit);
    }

    /** Stops renewing. Later claims throw; requests that are still running can end. */
    @Override
    public void close() {
        leases.close();
    }

    /** Collects settings; {@link #build()} checks them. Not thread-safe. */
    public static final class Builder {

        private final DataSource dataSource;
        private final PostgresLeaseStore.Builder leases;
        private TableName table = TableName.DEFAULT;
        private Duration timeout = Duration.ofSeconds(5);
        private Duration lockTimeout = Duration.ofMillis(500);

        private Builder(DataSource dataSource) {
            this.dataSource = requireNonNull(dataSource, "dataSource");
            leases = PostgresLeaseStore.builder(
                    dataSource instanceof JoinedDataSource joined ? joined.pool() : dataSource);
        }

        /**
         * The table, as {@code table} or {@code schema.table} in lower case; {@code idempotency_key} by default.
         *
         * @throws IllegalArgumentException if that is no such name
         */
        public Builder table(String name) {
            table = TableName.of(name);
            leases.table(name);
            return this;
        }

        /**
         * How long the database may take to answer one statement of the store's; 5 seconds by default, 1 ms to 1 hour. It
         * bounds the wait even where the driver's {@code socketTimeout} is unset. The handler's own statements are not
         * limited by it.
         */
        public Builder timeout(Duration timeout) {
            this.timeout = requireNonNull(timeout, "timeout");
            leases.timeout(timeout);
            return this;
        }

        /** How long a statement waits for a row that is being written; 500 ms by default, 1 ms to 1 minute. */
        public Builder lockTimeout(Duration timeout) {
            lockTimeout = requireNonNull(timeout, "timeout");
            leases.lockTimeout(timeout);
            return this;
        }

        /**
         * Checks all settings and makes the store. Nothing is asked of the database yet.
         *
         * @throws IllegalArgumentException if a setting is out of its bounds; the message names it
         */
        public PostgresJoinedLeaseStore build() {
            return new PostgresJoinedLeaseStore(this);
        }
    }
}
