// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import java.time.Duration;

/** What a store found when it was asked for a key: one of five, and never a wait for another owner. */
public sealed interface Claim {

    /** The key was free, or its row had expired: the caller runs the handler, and ends the lease. */
    record Acquired(Lease lease) implements Claim {}

    /**
     * Somebody else is running it.
     *
     * @param remaining how long the lease lasts without renewal, zero if unknown; a hint, as owners renew leases
     */
    record InProgress(Duration remaining) implements Claim {}

    /** It has run, with this answer. */
    record Completed(StoredResponse response) implements Claim {}

    /** The key belongs to another request, whatever became of that. */
    record Mismatched() implements Claim {}

    /**
     * An owner let its lease lapse, so nobody knows whether the effect happened.
     *
     * @param stale the lapsed claim: still the key's current one, so it can be completed, released or taken over
     * @param effectConfirmed whether the owner's business transaction left its mark ({@link Lease#confirm}): then the
     *     effect did happen, and only the answer is lost
     */
    record OutcomeUnknown(Lease stale, boolean effectConfirmed) implements Claim {}
}
