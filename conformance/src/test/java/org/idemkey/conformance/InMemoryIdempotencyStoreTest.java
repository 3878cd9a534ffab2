// SPDX-License-Identifier: Apache-2.0
package org.idemkey.conformance;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.atomic.AtomicReference;
import org.idemkey.IdempotencyStore;
import org.idemkey.InMemoryIdempotencyStore;

/** The store in memory, on a clock that ticks when told. */
class InMemoryIdempotencyStoreTest extends IdempotencyStoreContract {

    private final AtomicReference<Instant> now = new AtomicReference<>(Instant.parse("2026-01-01T00:00:00Z"));
    private final InMemoryIdempotencyStore store = new InMemoryIdempotencyStore(now::get);

    @Override
    protected IdempotencyStore store() {
        return store;
    }

    @Override
    protected void elapse(Duration time) {
        now.updateAndGet(instant -> instant.plus(time));
    }
}
