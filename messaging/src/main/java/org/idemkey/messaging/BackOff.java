// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/** Waits that double from 100 ms on up to a bound, each of them shortened at random by up to a half. */
final class BackOff {

    private static final long FIRST_NANOS = Duration.ofMillis(100).toNanos();

    private final long most;

    BackOff(Duration most) {
        this.most = most.toNanos();
    }

    /** How long to wait, in nanoseconds, after that many failures in a row, 1 or more. */
    long nanosAfter(int failures) {
        long whole = Math.min(most, FIRST_NANOS << Math.min(failures - 1, 30));
        return whole - ThreadLocalRandom.current().nextLong(whole / 2 + 1);
    }
}
