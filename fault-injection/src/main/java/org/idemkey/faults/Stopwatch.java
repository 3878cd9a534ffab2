// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.util.Locale;

/** Runs from when it is made. Thread-safe. */
final class Stopwatch {

    private final long start = System.nanoTime();

    long millis() {
        return (System.nanoTime() - start) / 1_000_000;
    }

    /** Seconds, as in {@code 12.345s}. */
    @Override
    public String toString() {
        return String.format(Locale.ROOT, "%.3fs", millis() / 1000.0);
    }
}
