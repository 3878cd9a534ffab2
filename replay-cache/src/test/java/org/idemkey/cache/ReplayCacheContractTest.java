// SPDX-License-Identifier: Apache-2.0
package org.idemkey.cache;

import java.time.Duration;
import org.idemkey.IdempotencyStore;
import org.idemkey.InMemoryIdempotencyStore;
import org.idemkey.conformance.IdempotencyStoreContract;

/** A store stays a store behind the cache: two instances, each with a cache of its own, over the same keys. */
class ReplayCacheContractTest extends IdempotencyStoreContract {

    private final Time time = new Time();
    private final InMemoryIdempotencyStore keys = new InMemoryIdempotencyStore(time);
    private final ReplayCache store = ReplayCache.builder(keys).clock(time).build();
    private final ReplayCache peer = ReplayCache.builder(keys).clock(time).build();

    @Override
    protected IdempotencyStore store() {
        return store;
    }

    @Override
    protected IdempotencyStore peer() {
        return peer;
    }

    @Override
    protected void elapse(Duration duration) {
        time.pass(duration);
    }
}
