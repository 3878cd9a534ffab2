// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static java.util.Objects.requireNonNull;

import java.sql.SQLException;
import java.time.Duration;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import javax.sql.DataSource;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore;
import org.idemkey.IdempotencyStoreException;
import org.idemkey.Lease;
import org.idemkey.StoredResponse;
import org.idemkey.Terms;
import org.idemkey.postgres.KeyTable.Request;

/**
 * Keeps keys in PostgreSQL by leases: a claim is committed before the handler starts, its completion after the handler
 * has ended, and in between no connection is held. For handlers whose effects are elsewhere than in this database, or
 * who can't share a transaction.
 *
 * <p>A process that dies in between leaves an unknown outcome, which nobody runs again unless the user chose so. While
 * the process lives, its leases are renewed in the background, so they may be far shorter than handlers take.
 *
 * <p>A response that can't be recorded, because the database is away, is kept in this process's memory and recorded as
 * soon as the database is back; the client has its answer meanwhile.
 *
 * <p>Requests that come at the same time share statements and commits: while one claim is on its way to the database, all
 * that come meanwhile gather and go together in the next. So a store holds four connections at most, one each for claims,
 * completions, releases and renewals, for any number of requests; and a lone request waits for nobody.
 *
 * <p>Takes connections from any pool, in auto-commit mode or not, never more than one at a time in a thread, and leaves
 * no state on them. Waits for pool and driver as long as these are told to: keep the pool's time-out well below the
 * lease. Thread-safe; close it after the adapters that use it.
 */
public final class PostgresLeaseStore implements IdempotencyStore, AutoCloseable {

    private final Jdbc jdbc;
    private final KeyTable table;
    private final SharedStatements shared;
    private final Claiming claiming;
    private final Keeper keeper;
    private final Queue<ExpiryCleaner> cleaners = new ConcurrentLinkedQueue<>();

    private PostgresLeaseStore(Builder builder) {
        jdbc = new Jdbc(builder.dataSource, builder.timeout);
        table = new KeyTable(builder.table, builder.lockTimeout);
        KeyBatches batches = new KeyBatches(builder.table, builder.lockTimeout);
        shared = new SharedStatements(jdbc, table, batches, builder.timeout);
        keeper = new Keeper(jdbc, table, builder.deferredBytes);
        claiming = new Claiming(jdbc, table, shared, keeper::abandon);
    }

    /** A store with the defaults that {@link Builder} tells. */
    public static PostgresLeaseStore create(DataSource dataSource) {
        return builder(dataSource).build();
    }

    /** Starts with the defaults that each of the builder's methods tells. */
    public static Builder builder(DataSource dataSource) {
        return new Builder(dataSource);
    }

    @Override
    public Claim claim(IdempotencyKey key, Fingerprint fingerprint, Terms terms) {
        return claim(key, fingerprint, terms, false);
    }

    /**
     * Claims a key.
     *
     * @param joined whether a lapse will mean that nothing was committed
     */
    Claim claim(IdempotencyKey key, Fingerprint fingerprint, Terms terms, boolean joined) {
        Request request = new Request(key, fingerprint, terms, UUID.randomUUID(), joined);
        keeper.requireOpen();
        try {
            return keptAlive(request, claiming.claim(request));
        } catch (SQLException e) {
            throw Jdbc.failure("key " + key + " could not be claimed", e);
        }
    }

    @Override
    public Claim takeOver(Lease stale, Fingerprint fingerprint, Terms terms) {
        return takeOver(stale, fingerprint, terms, false);
    }

    /** Takes a lapsed claim over, with another one that may be joined. */
    Claim takeOver(Lease stale, Fingerprint fingerprint, Terms terms, boolean joined) {
        Request request = new Request(stale.key(), fingerprint, terms, UUID.randomUUID(), joined);
        keeper.requireOpen();
        try {
            return keptAlive(request, claiming.takeOver(request, stale.token()));
        } catch (SQLException e) {
            throw Jdbc.failure("key " + stale.key() + " could not be taken over", e);
        }
    }

    private Claim keptAlive(Request request, Claim claim) {
        if (claim instanceof Claim.Acquired) {
            keeper.watch(request);
        }
        return claim;
    }

    @Override
    public Completion complete(Lease lease, StoredResponse response) {
        try {
            boolean recorded = shared.complete(lease, response);
            keeper.forget(lease.token());
            return recorded ? Completion.RECORDED : Completion.LOST;
        } catch (SQLException e) {
            if (Jdbc.isDataError(e) && !response.isTombstone()) {
                // This answer will never be taken. That it was given must be known all the same.
                return complete(lease, StoredResponse.tombstone(response.status()));
            }
            if (keeper.defer(lease, response)) {
                return Completion.DEFERRED;
            }
            keeper.forget(lease.token());
            throw Jdbc.failure("the response for key " + lease.key() + " could not be recorded", e);
        }
    }

    /**
     * {@inheritDoc}
     *
     * @throws IdempotencyStoreException if the database is away; the release is tried again in the background
     */
    @Override
    public boolean release(Lease lease) {
        try {
            boolean released = shared.release(lease);
            keeper.forget(lease.token());
            return released;
        } catch (SQLException e) {
            keeper.deferRelease(lease);
            throw Jdbc.failure("key " + lease.key() + " could not be released", e);
        }
    }

    @Override
    public int purgeExpired(int limit) {
        if (limit < 1) {
            throw new IllegalArgumentException("limit must be 1 or more: " + limit);
        }
        try {
            return jdbc.call(c -> table.purge(c, limit));
        } catch (SQLException e) {
            throw Jdbc.failure("expired keys could not be removed", e);
        }
    }

    /**
     * Stops renewing, after a last try to record what is still to be recorded. Later claims throw; completions and
     * releases of requests that are still running are written, but not deferred any more.
     */
    @Override
    public void close() {
        cleaners.forEach(ExpiryCleaner::close);
        keeper.close();
    }

    /** Lets a lease be that has ended without this store's doing. */
    void forget(Lease lease) {
        keeper.forget(lease.token());
    }

    /** Frees a claim in the background, if it turns out to be unfinished. */
    void releaseLater(Lease lease) {
        keeper.deferRelease(lease);
    }

    /** A cleaner that nobody else holds, so that it ends with the store. */
    void closeAlso(ExpiryCleaner cleaner) {
        cleaners.add(cleaner);
    }

    Keeper keeper() {
        return keeper;
    }

    /** Collects settings; {@link #build()} checks them. Not thread-safe. */
    public static final class Builder {

        private final DataSource dataSource;
        private TableName table = TableName.DEFAULT;
        private Duration timeout = Duration.ofSeconds(5);
        private Duration lockTimeout = Duration.ofMillis(500);
        private long deferredBytes = 64L << 20;

        private Builder(DataSource dataSource) {
            this.dataSource = requireNonNull(dataSource, "dataSource");
        }

        /**
         * The table, as {@code table} or {@code schema.table} in lower case; {@code idempotency_key}, wherever the search
         * path finds it, by default.
         *
         * @throws IllegalArgumentException if that is no such name
         */
        public Builder table(String name) {
            table = TableName.of(name);
            return this;
        }

        /**
         * How long the database may take to answer one statement, and how long a request waits for others' statements
         * before its own; 5 seconds by default, 1 ms to 1 hour. It bounds the wait even where the driver's
         * {@code socketTimeout} is unset; how long a connection may take to be had is the pool's affair.
         */
        public Builder timeout(Duration timeout) {
            this.timeout = requireNonNull(timeout, "timeout");
            return this;
        }

        /**
         * How long a statement waits for a row that another transaction is writing; 500 ms by default, 1 ms to 1 minute.
         * A claim answers "in progress" then.
         */
        public Builder lockTimeout(Duration timeout) {
            lockTimeout = requireNonNull(timeout, "timeout");
            return this;
        }

        /**
         * How much memory the bodies of responses may take that wait for the database to come back, in bytes; 64 MiB by
         * default, 0 or more. Beyond it, a response that can't be recorded leaves an unknown outcome.
         */
        public Builder deferredBytes(long bytes) {
            deferredBytes = bytes;
            return this;
        }

        /**
         * Checks all settings and makes the store. Nothing is asked of the database yet.
         *
         * @throws IllegalArgumentException if a setting is out of its bounds; the message names it
         */
        public PostgresLeaseStore build() {
            requireBounds(timeout, Duration.ofHours(1), "timeout must be 1 ms to 1 hour");
            requireBounds(lockTimeout, Duration.ofMinutes(1), "lockTimeout must be 1 ms to 1 minute");
            if (deferredBytes < 0) {
                throw new IllegalArgumentException("deferredBytes must be 0 or more: " + deferredBytes);
            }
            return new PostgresLeaseStore(this);
        }

        private static void requireBounds(Duration duration, Duration most, String message) {
            if (duration.compareTo(Duration.ofMillis(1)) < 0 || duration.compareTo(most) > 0) {
                throw new IllegalArgumentException(message + ": " + duration);
            }
        }
    }
}
