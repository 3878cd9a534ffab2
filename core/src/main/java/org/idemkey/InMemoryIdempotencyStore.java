// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import static java.util.Objects.requireNonNull;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Keeps keys in this process's memory: for tests, for actions that die with the process, and as the shortest reading of
 * the contract. Nothing survives a restart, and no other process sees anything, so it is no store for payments.
 *
 * <p>Leases are not renewed: take one that is longer than the longest action.
 */
public final class InMemoryIdempotencyStore implements IdempotencyStore {

    private final Map<IdempotencyKey, Row> rows = new ConcurrentHashMap<>();
    private final InstantSource clock;

    /** A store on the system's clock. */
    public InMemoryIdempotencyStore() {
        this(InstantSource.system());
    }

    /** A store on a clock of the caller's. */
    public InMemoryIdempotencyStore(InstantSource clock) {
        this.clock = requireNonNull(clock, "clock");
    }

    @Override
    public Claim claim(IdempotencyKey key, Fingerprint fingerprint, Terms terms) {
        Instant now = clock.instant();
        Row fresh = Row.claimed(key, fingerprint, terms, 1, now);
        Row found = rows.compute(key, (k, row) -> row == null || row.isExpired(now) ? fresh : row);
        return found.seenBy(fresh, now);
    }

    @Override
    public Claim takeOver(Lease stale, Fingerprint fingerprint, Terms terms) {
        Instant now = clock.instant();
        Row first = Row.claimed(stale.key(), fingerprint, terms, 1, now);
        Row next = Row.claimed(stale.key(), fingerprint, terms, stale.attempt() + 1, now);
        Row found = rows.compute(stale.key(), (k, row) -> {
            if (row == null || row.isExpired(now)) {
                return first;
            }
            boolean ours = row.isOf(stale) && row.fingerprint.equals(fingerprint) && row.isLapsed(now);
            return ours ? next : row;
        });
        return found.seenBy(found == first ? first : next, now);
    }

    @Override
    public Completion complete(Lease lease, StoredResponse response) {
        boolean[] recorded = new boolean[1];
        rows.computeIfPresent(lease.key(), (k, row) -> {
            recorded[0] = row.isOf(lease);
            return recorded[0] ? row.completed(response) : row;
        });
        return recorded[0] ? Completion.RECORDED : Completion.LOST;
    }

    @Override
    public boolean release(Lease lease) {
        boolean[] released = new boolean[1];
        rows.computeIfPresent(lease.key(), (k, row) -> {
            released[0] = row.isOf(lease);
            return released[0] ? null : row;
        });
        return released[0];
    }

    @Override
    public int purgeExpired(int limit) {
        Instant now = clock.instant();
        List<Row> expired = new ArrayList<>();
        for (Row row : rows.values()) {
            if (expired.size() == limit) {
                break;
            }
            if (row.isExpired(now)) {
                expired.add(row);
            }
        }
        int purged = 0;
        for (Row row : expired) {
            // Only this very row: a new claim may have taken its place.
            purged += rows.remove(row.lease.key(), row) ? 1 : 0;
        }
        return purged;
    }

    private record MemoryLease(IdempotencyKey key, UUID token, int attempt) implements Lease {}

    /** One key's state; never changed, only replaced. Compared by identity. */
    private static final class Row {

        private final MemoryLease lease;
        private final Fingerprint fingerprint;
        private final Instant leaseUntil;
        private final Instant expiresAt;
        private final @Nullable StoredResponse response;

        private Row(
                MemoryLease lease,
                Fingerprint fingerprint,
                Instant leaseUntil,
                Instant expiresAt,
                @Nullable StoredResponse response) {
            this.lease = lease;
            this.fingerprint = fingerprint;
            this.leaseUntil = leaseUntil;
            this.expiresAt = expiresAt;
            this.response = response;
        }

        static Row claimed(IdempotencyKey key, Fingerprint fingerprint, Terms terms, int attempt, Instant now) {
            return new Row(
                    new MemoryLease(key, UUID.randomUUID(), attempt),
                    fingerprint,
                    now.plus(terms.lease()),
                    now.plus(terms.retention()),
                    null);
        }

        Row completed(StoredResponse answer) {
            return new Row(lease, fingerprint, leaseUntil, expiresAt, answer);
        }

        boolean isExpired(Instant now) {
            return !expiresAt.isAfter(now);
        }

        boolean isLapsed(Instant now) {
            return response == null && !leaseUntil.isAfter(now);
        }

        boolean isOf(Lease other) {
            return response == null && lease.token().equals(other.token());
        }

        Claim seenBy(Row claimant, Instant now) {
            if (lease.token().equals(claimant.lease.token())) {
                return new Claim.Acquired(lease);
            } else if (!fingerprint.equals(claimant.fingerprint)) {
                return new Claim.Mismatched();
            } else if (response != null) {
                return new Claim.Completed(response);
            } else if (isLapsed(now)) {
                return new Claim.OutcomeUnknown(lease, false);
            }
            return new Claim.InProgress(Duration.between(now, leaseUntil));
        }
    }
}
