// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import java.util.function.UnaryOperator;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore;
import org.idemkey.InMemoryIdempotencyStore;
import org.idemkey.Lease;
import org.idemkey.StoredResponse;
import org.idemkey.Terms;
import org.jspecify.annotations.Nullable;

/** Makes a store that remembers being closed, where {@code testStore} asks for it. */
public final class TestStoreProvider implements IdempotencyStore.Provider {

    private static volatile @Nullable TestStore last;

    static TestStore last() {
        return last;
    }

    @Override
    public @Nullable IdempotencyStore create(UnaryOperator<@Nullable String> settings) {
        String kind = settings.apply("testStore");
        if (kind == null) {
            return null;
        } else if (!kind.equals("memory")) {
            throw new IllegalArgumentException("testStore can't be " + kind);
        }
        last = new TestStore();
        return last;
    }

    static final class TestStore implements IdempotencyStore, AutoCloseable {

        private final InMemoryIdempotencyStore store = new InMemoryIdempotencyStore();
        private volatile boolean closed;

        boolean isClosed() {
            return closed;
        }

        @Override
        public void close() {
            closed = true;
        }

        @Override
        public Claim claim(IdempotencyKey key, Fingerprint fingerprint, Terms terms) {
            return store.claim(key, fingerprint, terms);
        }

        @Override
        public Claim takeOver(Lease stale, Fingerprint fingerprint, Terms terms) {
            return store.takeOver(stale, fingerprint, terms);
        }

        @Override
        public Completion complete(Lease lease, StoredResponse response) {
            return store.complete(lease, response);
        }

        @Override
        public boolean release(Lease lease) {
            return store.release(lease);
        }

        @Override
        public int purgeExpired(int limit) {
            return store.purgeExpired(limit);
        }
    }
}
