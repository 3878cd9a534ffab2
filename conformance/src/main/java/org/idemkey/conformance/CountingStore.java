// SPDX-License-Identifier: Apache-2.0
package org.idemkey.conformance;

import java.util.concurrent.atomic.AtomicInteger;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore;
import org.idemkey.IdempotencyStoreException;
import org.idemkey.Lease;
import org.idemkey.StoredResponse;
import org.idemkey.Terms;

/** Counts what a store is asked, and can be away. Thread-safe. */
public final class CountingStore implements IdempotencyStore {

    private final IdempotencyStore store;
    private final AtomicInteger calls = new AtomicInteger();
    private final AtomicInteger ended = new AtomicInteger();
    private volatile boolean away;

    /** Counts what this store is asked. */
    public CountingStore(IdempotencyStore store) {
        this.store = store;
    }

    /** How many calls there were, of all methods, those in vain among them. */
    public int calls() {
        return calls.get();
    }

    /** How many claims were ended, by an answer or a release, whether or not they were still their owner's. */
    public int ended() {
        return ended.get();
    }

    /** From now on each call fails as with a database that can't be reached. */
    public void goAway() {
        away = true;
    }

    /** Ends {@link #goAway()}. */
    public void comeBack() {
        away = false;
    }

    private IdempotencyStore asked() {
        calls.incrementAndGet();
        if (away) {
            throw new IdempotencyStoreException("away", null);
        }
        return store;
    }

    @Override
    public Claim claim(IdempotencyKey key, Fingerprint fingerprint, Terms terms) {
        return asked().claim(key, fingerprint, terms);
    }

    @Override
    public Claim takeOver(Lease stale, Fingerprint fingerprint, Terms terms) {
        return asked().takeOver(stale, fingerprint, terms);
    }

    @Override
    public Completion complete(Lease lease, StoredResponse response) {
        Completion completion = asked().complete(lease, response);
        ended.incrementAndGet();
        return completion;
    }

    @Override
    public boolean release(Lease lease) {
        boolean released = asked().release(lease);
        ended.incrementAndGet();
        return released;
    }

    @Override
    public int purgeExpired(int limit) {
        return asked().purgeExpired(limit);
    }

    @Override
    public boolean isTransactional() {
        return store.isTransactional();
    }
}
