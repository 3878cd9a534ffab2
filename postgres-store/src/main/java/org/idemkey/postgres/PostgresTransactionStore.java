// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static java.util.Objects.requireNonNull;

import java.sql.SQLException;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.UUID;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore;
import org.idemkey.IdempotencyStoreException;
import org.idemkey.Lease;
import org.idemkey.StoredResponse;
import org.idemkey.Terms;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the key, the handler's effects and the response in one PostgreSQL transaction: one commit makes all of it true,
 * and whatever ends the request before that leaves nothing behind, the key free at once.
 *
 * <p>The claim opens the transaction, the handler joins it by taking its connections from {@link #dataSource()}, and the
 * completion writes the key's row and commits: three round trips around a handler with one statement, and one commit. A
 * claim holds one pooled connection until it ends, so there is a bound on concurrent claims, and the next one waits for
 * a bounded time without a connection. Terms' lease has no meaning here, since an owner's end ends its transaction.
 *
 * <p>A claim in flight has no row that others could see. Advisory locks tell them of it at once; the primary key decides
 * in the end, so where the locks fail, one of two commits and the other is {@link Completion#LOST}, with all it did.
 *
 * <p>All stores of this package may work on one table at once. Thread-safe.
 */
public final class PostgresTransactionStore implements IdempotencyStore {

    /** SQLSTATE of a transaction that can't write. */
    private static final String READ_ONLY = "25006";

    /** Where handlers are quick, a turn comes sooner than the answer to any other question. */
    private static final Duration SOON = Duration.ofMillis(50);

    /** So many keys are looked up together at most: nobody knows how large their answers are. */
    private static final int MOST_LOOKED_UP = 16;

    private final JoinedDataSource dataSource;
    private final TransactionSql sql;
    private final Commit commit;
    private final KeyTable table;
    private final Jdbc jdbc;
    private final RecordedKeys recorded = new RecordedKeys();
    private final SharedCalls<IdempotencyKey, Optional<Found.Row>> glances;
    private final Semaphore permits;
    private final Duration shortWait;
    private final Duration longWait;
    private final Duration timeout;

    private PostgresTransactionStore(Builder builder, int maxConcurrent, int looks) {
        dataSource = JoinedDataSource.of(builder.dataSource);
        timeout = builder.timeout;
        jdbc = new Jdbc(dataSource.pool(), timeout);
        sql = new TransactionSql(builder.table, builder.locks, builder.lockTimeout, builder.idleTimeout);
        commit = new Commit(sql, jdbc, timeout);
        table = new KeyTable(builder.table, builder.lockTimeout);
        permits = new Semaphore(maxConcurrent, true);
        glances = new SharedCalls<>(
                new SharedCalls.Limits(looks, MOST_LOOKED_UP, MOST_LOOKED_UP, timeout),
                key -> 1,
                keys -> jdbc.call(connection -> sql.glance(connection, keys)));
        shortWait = builder.permitWait.compareTo(SOON) < 0 ? builder.permitWait : SOON;
        longWait = builder.permitWait.minus(shortWait);
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
    public static PostgresTransactionStore create(DataSource dataSource) {
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
        return claim(key, fingerprint, terms, null);
    }

    /**
     * Claims a lapsed lease of another store of this package. The old claim stays the row's until this one commits, and
     * this one is lost if the old owner comes back before that.
     */
    @Override
    public Claim takeOver(Lease stale, Fingerprint fingerprint, Terms terms) {
        return claim(stale.key(), fingerprint, terms, stale);
    }

    private Claim claim(IdempotencyKey key, Fingerprint fingerprint, Terms terms, @Nullable Lease stale) {
        if (recorded.mayContain(key)) {
            // Very likely a replay, which needs neither locks nor a transaction that has to be undone.
            Claim seen = look(() -> glances.ask(key).map(Found::of).orElse(null), key, fingerprint, stale);
            if (seen != null) {
                return seen;
            }
        }
        Claim claim = begin(key, fingerprint, terms, stale);
        if (claim instanceof Claim.Completed) {
            recorded.add(key);
        }
        return claim;
    }

    private Claim begin(IdempotencyKey key, Fingerprint fingerprint, Terms terms, @Nullable Lease stale) {
        if (!permits.tryAcquire() && !hasPermitWithin(shortWait)) {
            // An answer that is there already needn't wait for somebody else's handler.
            Claim seen = look(
                    () -> jdbc.call(connection -> sql.peek(connection, key, fingerprint)), key, fingerprint, stale);
            if (seen != null) {
                return seen;
            }
            if (!hasPermitWithin(longWait)) {
                throw new IdempotencyStoreException("as many protected requests as may run at once are running", null);
            }
        }
        PooledConnection pooled;
        try {
            pooled = PooledConnection.take(dataSource.pool(), timeout, permits::release);
        } catch (SQLException e) {
            permits.release();
            throw Jdbc.failure("key " + key + " could not be claimed for want of a connection", e);
        } catch (RuntimeException | Error e) {
            permits.release();
            throw e;
        }
        boolean acquired = false;
        try {
            Found found = pooled.beginning(connection -> sql.begin(connection, key, fingerprint));
            Claim refusal = found.refusal(table, key, fingerprint, stale);
            if (refusal != null) {
                return refusal;
            }
            if (found.readOnly()) {
                // A standby, for instance. Better now than when the handler has moved somebody's money.
                throw new SQLException("the server takes no writes", READ_ONLY);
            }
            acquired = true;
            return new Claim.Acquired(new TransactionLease(
                    key,
                    UUID.randomUUID(),
                    found.attempt(),
                    fingerprint,
                    terms.retention(),
                    found.replaced(),
                    found.backend(),
                    new JoinedTransaction(pooled, false),
                    dataSource));
        } catch (SQLException e) {
            throw Jdbc.failure("key " + key + " could not be claimed", e);
        } finally {
            if (!acquired) {
                pooled.giveBack(false);
            }
        }
    }

    /** A look that begins nothing; null if it tells nothing. */
    @FunctionalInterface
    private interface Look {
        @Nullable
        Found find() throws SQLException;
    }

    private @Nullable Claim look(Look look, IdempotencyKey key, Fingerprint fingerprint, @Nullable Lease stale) {
        try {
            Found found = look.find();
            return found == null ? null : found.refusal(table, key, fingerprint, stale);
        } catch (SQLException e) {
            throw Jdbc.failure("key " + key + " could not be looked up", e);
        }
    }

    private boolean hasPermitWithin(Duration wait) {
        try {
            return permits.tryAcquire(wait.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    @Override
    public Completion complete(Lease lease, StoredResponse response) {
        if (lease instanceof TransactionLease own) {
            Completion done = commit.record(own, response);
            if (done == Completion.RECORDED) {
                recorded.add(own.key());
            }
            return done;
        }
        try {
            // A lapsed claim of another store, whose answer was found in the application's books.
            boolean recorded = jdbc.call(c -> table.complete(c, lease.key(), lease.token(), response));
            return recorded ? Completion.RECORDED : Completion.LOST;
        } catch (SQLException e) {
            throw Jdbc.failure("the response for key " + lease.key() + " could not be recorded", e);
        }
    }

    @Override
    public boolean release(Lease lease) {
        if (lease instanceof TransactionLease own) {
            return own.transaction().rollback(timeout);
        }
        try {
            return jdbc.call(c -> table.release(c, lease.key(), lease.token()));
        } catch (SQLException e) {
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

    /** Collects settings; {@link #build()} checks them. Not thread-safe. */
    public static final class Builder {

        private static final int DEFAULT_CONCURRENT = 8;

        private final DataSource dataSource;
        private TableName table = TableName.DEFAULT;
        private @Nullable Integer maxConcurrent;
        private Duration permitWait = Duration.ofSeconds(2);
        private Duration timeout = Duration.ofSeconds(5);
        private Duration lockTimeout = Duration.ofMillis(500);
        private @Nullable Duration idleTimeout = Duration.ofMinutes(5);
        private AdvisoryLocks locks = AdvisoryLocks.STANDARD;
        private @Nullable Integer looks;

        private Builder(DataSource dataSource) {
            this.dataSource = requireNonNull(dataSource, "dataSource");
        }

        /**
         * The table, as {@code table} or {@code schema.table} in lower case; {@code idempotency_key} by default.
         *
         * @throws IllegalArgumentException if that is no such name
         */
        public Builder table(String name) {
            table = TableName.of(name);
            return this;
        }

        /**
         * How many claims may be in flight in this store at once, each of them holding a connection; 1 at least, and fewer
         * than the pool has. By default three quarters of a pool that tells its size as HikariCP, DBCP 2, c3p0, Tomcat JDBC
         * or Druid do, else {@value #DEFAULT_CONCURRENT}.
         */
        public Builder maxConcurrent(int claims) {
            maxConcurrent = claims;
            return this;
        }

        /** How long a claim waits for its turn where that many are in flight; 2 seconds by default, 0 at least. */
        public Builder permitWait(Duration wait) {
            permitWait = requireNonNull(wait, "wait");
            return this;
        }

        /**
         * How long an answer of the database is waited for, by each claim, completion and release, even where the driver's
         * {@code socketTimeout} is unset; 5 seconds by default, 1 ms at least. The handler's own statements are not limited
         * by it.
         */
        public Builder timeout(Duration timeout) {
            this.timeout = requireNonNull(timeout, "timeout");
            return this;
        }

        /**
         * How long a completion waits for another claim of the same key that is just being written; 500 ms by default,
         * 1 ms at least.
         */
        public Builder lockTimeout(Duration timeout) {
            lockTimeout = requireNonNull(timeout, "timeout");
            return this;
        }

        /**
         * How long a handler may leave its transaction alone before the server undoes it, which frees the key of an owner
         * that was cut off without a word; 5 minutes by default, 1 ms at least. Null leaves it to the server's own
         * {@code idle_in_transaction_session_timeout}.
         */
        public Builder idleTimeout(@Nullable Duration timeout) {
            idleTimeout = timeout;
            return this;
        }

        /** For tests of what must hold without the locks. */
        Builder locks(AdvisoryLocks locks) {
            this.locks = locks;
            return this;
        }

        /** How many look-ups of recorded keys are on their way at once before others share one; for tests. */
        Builder looks(int looks) {
            this.looks = looks;
            return this;
        }

        /**
         * Checks all settings and makes the store.
         *
         * @throws IllegalArgumentException if a setting is out of its bounds; the message names it
         */
        public PostgresTransactionStore build() {
            DataSource pool = dataSource instanceof JoinedDataSource joined ? joined.pool() : dataSource;
            OptionalInt size = PoolSize.of(pool);
            int permits = maxConcurrent != null
                    ? maxConcurrent
                    : size.isPresent() ? Math.max(1, size.getAsInt() * 3 / 4) : DEFAULT_CONCURRENT;
            require(permits >= 1, "maxConcurrent must be 1 or more");
            require(
                    size.isEmpty() || permits < size.getAsInt(),
                    "maxConcurrent must be less than the pool's size, or nothing is left for other requests: "
                            + permits);
            require(!permitWait.isNegative(), "permitWait must be 0 or more");
            require(timeout.toMillis() >= 1, "timeout must be 1 ms or more");
            require(lockTimeout.toMillis() >= 1, "lockTimeout must be 1 ms or more");
            require(idleTimeout == null || idleTimeout.toMillis() >= 1, "idleTimeout must be 1 ms or more");
            int ofPool = Math.max(1, size.orElse(DEFAULT_CONCURRENT) / 2);
            return new PostgresTransactionStore(this, permits, looks != null ? looks : ofPool);
        }

        private static void require(boolean held, String message) {
            if (!held) {
                throw new IllegalArgumentException(message);
            }
        }
    }
}
