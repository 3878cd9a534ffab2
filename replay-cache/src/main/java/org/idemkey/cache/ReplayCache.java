// SPDX-License-Identifier: Apache-2.0
package org.idemkey.cache;

import static java.util.Objects.requireNonNull;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Expiry;
import com.github.benmanes.caffeine.cache.Ticker;
import java.time.Duration;
import org.idemkey.Bytes;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore;
import org.idemkey.Lease;
import org.idemkey.StoredResponse;
import org.idemkey.StoredResponse.Header;
import org.idemkey.Terms;

/**
 * Answers repetitions from this process's memory, and asks the store for everything else. Only a response that this
 * process has recorded itself is answered so, to the same request, and until its key expires; so a key in flight, an
 * expired one, or one that belongs to another request is always the store's affair.
 *
 * <p>When a key expires is the store's own knowledge. It does so no sooner than its retention after the moment before the
 * claim, and no response is kept longer than that, on a clock that nobody can set. Whatever else ends a record sooner,
 * such as an operator who deletes it, or a step of the database's clock, shows when the response's age ends.
 *
 * <p>Bounded in bytes and in age. Has no thread. Thread-safe.
 */
public final class ReplayCache implements IdempotencyStore {

    /** What an entry takes beside the bytes that it holds, roughly. */
    private static final int OVERHEAD = 512;

    private final IdempotencyStore store;
    private final long maxAge;
    private final Ticker clock;
    private final Cache<IdempotencyKey, Recorded> responses;
    /** What will be needed when a lease is completed. Goes with the lease, whatever becomes of it. */
    private final Cache<Lease, Claimed> claims;

    private ReplayCache(Builder builder) {
        store = builder.store;
        maxAge = builder.maxAge.toNanos();
        clock = builder.clock;
        responses = Caffeine.newBuilder()
                .maximumWeight(builder.maxBytes)
                .weigher(ReplayCache::bytes)
                .expireAfter(Expiry.creating((IdempotencyKey key, Recorded recorded) -> left(recorded)))
                .ticker(clock)
                .executor(Runnable::run)
                .build();
        claims = Caffeine.newBuilder().weakKeys().executor(Runnable::run).build();
    }

    /** A cache with the defaults that {@link Builder} tells. */
    public static ReplayCache of(IdempotencyStore store) {
        return builder(store).build();
    }

    /** Starts with the defaults that each of the builder's methods tells. */
    public static Builder builder(IdempotencyStore store) {
        return new Builder(store);
    }

    private record Claimed(Fingerprint fingerprint, long expiresAt) {}

    private record Recorded(Fingerprint fingerprint, StoredResponse response, long expiresAt) {}

    private Duration left(Recorded recorded) {
        return Duration.ofNanos(Math.max(0, recorded.expiresAt() - clock.read()));
    }

    private static int bytes(IdempotencyKey key, Recorded recorded) {
        StoredResponse response = recorded.response();
        long bytes = (long) OVERHEAD
                + key.value().length()
                + response.body().map(Bytes::length).orElse(0);
        for (Header header : response.headers()) {
            bytes += header.name().length() + header.value().length();
        }
        return (int) Math.min(bytes, Integer.MAX_VALUE);
    }

    @Override
    public Claim claim(IdempotencyKey key, Fingerprint fingerprint, Terms terms) {
        Recorded recorded = responses.getIfPresent(key);
        // Expiry is judged here once more: the cache counts from when it was given the entry, a moment later.
        if (recorded != null
                && recorded.fingerprint().equals(fingerprint)
                && !left(recorded).isZero()) {
            return new Claim.Completed(recorded.response());
        }
        long before = clock.read();
        return noted(store.claim(key, fingerprint, terms), fingerprint, terms, before);
    }

    @Override
    public Claim takeOver(Lease stale, Fingerprint fingerprint, Terms terms) {
        long before = clock.read();
        return noted(store.takeOver(stale, fingerprint, terms), fingerprint, terms, before);
    }

    private Claim noted(Claim claim, Fingerprint fingerprint, Terms terms, long before) {
        if (claim instanceof Claim.Acquired acquired) {
            // Stores keep whole milliseconds.
            long retention = Duration.ofMillis(terms.retention().toMillis()).toNanos();
            claims.put(acquired.lease(), new Claimed(fingerprint, before + retention));
        }
        return claim;
    }

    @Override
    public Completion complete(Lease lease, StoredResponse response) {
        Completion completion = store.complete(lease, response);
        Claimed claimed = claims.getIfPresent(lease);
        if (claimed != null && completion == Completion.RECORDED) {
            long now = clock.read();
            long expiresAt = now + Math.min(maxAge, claimed.expiresAt() - now);
            responses.put(lease.key(), new Recorded(claimed.fingerprint(), response, expiresAt));
        }
        return completion;
    }

    @Override
    public boolean release(Lease lease) {
        return store.release(lease);
    }

    @Override
    public int purgeExpired(int limit) {
        return store.purgeExpired(limit);
    }

    @Override
    public boolean isTransactional() {
        return store.isTransactional();
    }

    /** Collects settings; {@link #build()} checks them. Not thread-safe. */
    public static final class Builder {

        private final IdempotencyStore store;
        private long maxBytes = 64L << 20;
        private Duration maxAge = Duration.ofMinutes(10);
        private Ticker clock = Ticker.systemTicker();

        private Builder(IdempotencyStore store) {
            this.store = requireNonNull(store, "store");
        }

        /** How much memory the responses may take together, in bytes; 64 MiB by default, 1 at least. */
        public Builder maxBytes(long bytes) {
            maxBytes = bytes;
            return this;
        }

        /** How long a response is kept at most; 10 minutes by default, 1 ms to 3650 days. */
        public Builder maxAge(Duration age) {
            maxAge = requireNonNull(age, "age");
            return this;
        }

        /** For tests. */
        Builder clock(Ticker ticker) {
            clock = ticker;
            return this;
        }

        /**
         * Checks all settings and makes the cache.
         *
         * @throws IllegalArgumentException if a setting is out of its bounds; the message names it
         */
        public ReplayCache build() {
            if (maxBytes < 1) {
                throw new IllegalArgumentException("maxBytes must be 1 or more: " + maxBytes);
            }
            if (maxAge.toMillis() < 1 || maxAge.compareTo(Duration.ofDays(Terms.MAX_DAYS)) > 0) {
                throw new IllegalArgumentException("maxAge must be 1 ms to " + Terms.MAX_DAYS + " days: " + maxAge);
            }
            return new ReplayCache(this);
        }
    }
}
