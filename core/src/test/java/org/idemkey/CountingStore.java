// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

/** A store that counts its calls, can be away, and can claim to undo effects. */
final class CountingStore implements IdempotencyStore {

    private final IdempotencyStore store;
    int calls;
    boolean away;
    boolean transactional;

    CountingStore(IdempotencyStore store) {
        this.store = store;
    }

    @Override
    public Claim claim(IdempotencyKey key, Fingerprint fingerprint, Terms terms) {
        return reached().claim(key, fingerprint, terms);
    }

    @Override
    public Claim takeOver(Lease stale, Fingerprint fingerprint, Terms terms) {
        return reached().takeOver(stale, fingerprint, terms);
    }

    @Override
    public Completion complete(Lease lease, StoredResponse response) {
        return reached().complete(lease, response);
    }

    @Override
    public boolean release(Lease lease) {
        return reached().release(lease);
    }

    @Override
    public int purgeExpired(int limit) {
        return reached().purgeExpired(limit);
    }

    @Override
    public boolean isTransactional() {
        return transactional;
    }

    private IdempotencyStore reached() {
        calls++;
        if (away) {
            throw new IdempotencyStoreException("away", null);
        }
        return store;
    }
}
