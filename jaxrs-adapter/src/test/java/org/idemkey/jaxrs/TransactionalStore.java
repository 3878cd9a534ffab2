// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs;

import java.util.UUID;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore;
import org.idemkey.InMemoryIdempotencyStore;
import org.idemkey.Lease;
import org.idemkey.StoredResponse;
import org.idemkey.Terms;

/** A store in memory that ties threads, as one that shares its transaction does. */
final class TransactionalStore implements IdempotencyStore {

    static final ThreadLocal<Lease> TIED = new ThreadLocal<>();
    private final IdempotencyStore store = new InMemoryIdempotencyStore();

    @Override
    public boolean isTransactional() {
        return true;
    }

    @Override
    public Claim claim(IdempotencyKey key, Fingerprint fingerprint, Terms terms) {
        Claim claim = store.claim(key, fingerprint, terms);
        return claim instanceof Claim.Acquired acquired ? new Claim.Acquired(new TyingLease(acquired.lease())) : claim;
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

    private record TyingLease(Lease lease) implements Lease {
        @Override
        public IdempotencyKey key() {
            return lease.key();
        }

        @Override
        public UUID token() {
            return lease.token();
        }

        @Override
        public int attempt() {
            return lease.attempt();
        }

        @Override
        public Binding bind() {
            TIED.set(this);
            return TIED::remove;
        }
    }
}
