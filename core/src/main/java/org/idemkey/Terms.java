// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import static java.util.Objects.requireNonNull;

import java.time.Duration;

/**
 * The two times of a claim, which are never one: how long an owner may be silent, and how long the key is known.
 *
 * <p>Durations only: the instants they lead to are the store's own, by the store's own clock.
 *
 * @param lease how long a claim stays in flight without a sign of life from its owner; at least 1 ms
 * @param retention how long the key is kept, counted from the claim; at least 1 ms, at most {@value #MAX_DAYS} days
 */
public record Terms(Duration lease, Duration retention) {

    /** The longest lease or retention, in days. */
    public static final int MAX_DAYS = 3650;

    private static final Terms DEFAULTS = new Terms(Duration.ofSeconds(30), Duration.ofHours(24));

    /**
     * Checks the bounds.
     *
     * @throws IllegalArgumentException if one of them is out of its bounds
     */
    public Terms {
        requireBounds(lease, "lease");
        requireBounds(retention, "retention");
    }

    /** A lease of 30 seconds and a retention of 24 hours. */
    public static Terms defaults() {
        return DEFAULTS;
    }

    private static void requireBounds(Duration duration, String name) {
        requireNonNull(duration, name);
        if (duration.compareTo(Duration.ofMillis(1)) < 0 || duration.compareTo(Duration.ofDays(MAX_DAYS)) > 0) {
            throw new IllegalArgumentException(name + " must be 1 ms to " + MAX_DAYS + " days: " + duration);
        }
    }
}
