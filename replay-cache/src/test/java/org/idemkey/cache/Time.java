// SPDX-License-Identifier: Apache-2.0
package org.idemkey.cache;

import com.github.benmanes.caffeine.cache.Ticker;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.concurrent.atomic.AtomicLong;

/** One time for store and cache, which passes when told. */
final class Time implements InstantSource, Ticker {

    private static final Instant START = Instant.parse("2026-01-01T00:00:00Z");

    private final AtomicLong nanos = new AtomicLong();

    void pass(Duration time) {
        nanos.addAndGet(time.toNanos());
    }

    @Override
    public Instant instant() {
        return START.plusNanos(nanos.get());
    }

    /** From a start near the end of its range, as nobody says where such a clock begins. */
    @Override
    public long read() {
        return Long.MAX_VALUE - 1000 + nanos.get();
    }
}
