// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.UUID;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.Lease;
import org.idemkey.StoredResponse;
import org.jspecify.annotations.Nullable;

/**
 * What a look-up met in the table and at the advisory locks.
 *
 * @param row the key's committed row, seen by a snapshot that is younger than the answer of the locks
 * @param backend the transaction that looked
 * @param readOnly whether that transaction can't write: then what is found is true, but nothing can be claimed
 */
record Found(Locks locks, @Nullable Row row, Backend backend, boolean readOnly) {

    /** Which of the two locks were free; in the order of the numbers by which the database tells it. */
    enum Locks {
        TAKEN,
        /** The same request is in flight. */
        REQUEST_BUSY,
        /** Another request is in flight under this key. */
        KEY_BUSY
    }

    /**
     * Tells one transaction of one server from all others.
     *
     * @param began in seconds since the epoch, to the microsecond
     */
    record Backend(int pid, BigDecimal began) {}

    private static final Backend NOBODY = new Backend(0, BigDecimal.ZERO);

    /** A row that was found without a look at the locks. */
    static Found of(Row row) {
        return new Found(Locks.TAKEN, row, NOBODY, true);
    }

    /** A committed row; {@code remaining} is what is left of its lease. */
    record Row(
            Fingerprint fingerprint,
            UUID token,
            int attempt,
            boolean joined,
            boolean confirmed,
            boolean expired,
            boolean lapsed,
            Duration remaining,
            @Nullable StoredResponse response) {

        /** Whether its owner fell silent, and neither committed anything nor ever will. */
        private boolean leftNothing() {
            return lapsed && joined && !confirmed;
        }

        private boolean mayBeTaken(@Nullable Lease stale) {
            return lapsed && !confirmed && stale != null && stale.token().equals(token);
        }
    }

    /**
     * Why the key can't be acquired, or null if it can. Judges in the contract's order: an expired row is free, another
     * fingerprint is mismatched, and so on. What is in flight in another transaction has no row yet, so locks come last.
     *
     * @param table where the claim of an unknown outcome can be confirmed
     * @param stale the lapsed claim that is to be taken over, if one is
     */
    @Nullable
    Claim refusal(KeyTable table, IdempotencyKey key, Fingerprint fingerprint, @Nullable Lease stale) {
        if (row != null && !row.expired()) {
            if (!row.fingerprint().equals(fingerprint)) {
                return new Claim.Mismatched();
            } else if (row.response() != null) {
                return new Claim.Completed(row.response());
            } else if (!row.lapsed()) {
                return new Claim.InProgress(row.remaining());
            } else if (!row.leftNothing() && !row.mayBeTaken(stale)) {
                return new Claim.OutcomeUnknown(
                        new PostgresLease(table, key, row.token(), row.attempt()), row.confirmed());
            }
        }
        return switch (locks) {
            case TAKEN -> null;
            case REQUEST_BUSY -> new Claim.InProgress(Duration.ZERO);
            case KEY_BUSY -> new Claim.Mismatched();
        };
    }

    /** The number of the attempt, once nothing stands against it. */
    int attempt() {
        return row == null || row.expired() ? 1 : row.attempt() + 1;
    }

    /** The claim whose row has to go before another one takes its place. */
    @Nullable
    UUID replaced() {
        return row == null ? null : row.token();
    }
}
