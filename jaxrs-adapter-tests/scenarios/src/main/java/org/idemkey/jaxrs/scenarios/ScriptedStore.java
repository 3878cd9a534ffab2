// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.scenarios;

import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore;
import org.idemkey.IdempotencyStoreException;
import org.idemkey.InMemoryIdempotencyStore;
import org.idemkey.Lease;
import org.idemkey.StoredResponse;
import org.idemkey.Terms;
import org.jspecify.annotations.Nullable;

/** A store in memory that says what it was told, loses claims by wish, and ties threads as a transaction's store does. */
final class ScriptedStore implements IdempotencyStore {

    /** The lease that the current thread is tied to. */
    static final ThreadLocal<@Nullable Lease> TIED = new ThreadLocal<>();

    private final IdempotencyStore store = new InMemoryIdempotencyStore();
    private final boolean transactional;
    final Map<String, Terms> terms = new ConcurrentHashMap<>();
    final List<String> claims = new CopyOnWriteArrayList<>();
    final List<String> completions = new CopyOnWriteArrayList<>();
    final List<String> releases = new CopyOnWriteArrayList<>();
    final List<String> ended = new CopyOnWriteArrayList<>();
    final List<String> tiedWhenEnded = new CopyOnWriteArrayList<>();

    ScriptedStore(boolean transactional) {
        this.transactional = transactional;
    }

    @Override
    public boolean isTransactional() {
        return transactional;
    }

    @Override
    public Claim claim(IdempotencyKey key, Fingerprint fingerprint, Terms asked) {
        Claim claim = store.claim(key, fingerprint, asked);
        terms.put(key.value(), asked);
        claims.add(key.value());
        return claim instanceof Claim.Acquired acquired
                ? new Claim.Acquired(transactional ? new TyingLease(acquired.lease()) : acquired.lease())
                : claim;
    }

    @Override
    public Claim takeOver(Lease stale, Fingerprint fingerprint, Terms asked) {
        return store.takeOver(stale, fingerprint, asked);
    }

    @Override
    public Completion complete(Lease lease, StoredResponse response) {
        String key = lease.key().value();
        noteTie(key);
        completions.add(key);
        if (key.startsWith("lost-")) {
            return Completion.LOST;
        } else if (key.startsWith("uncertain-")) {
            throw new IdempotencyStoreException("the commit's answer was lost", null);
        }
        Completion completion = store.complete(lease, response);
        ended.add(key);
        return completion;
    }

    @Override
    public boolean release(Lease lease) {
        String key = lease.key().value();
        noteTie(key);
        releases.add(key);
        boolean released = store.release(lease);
        ended.add(key);
        return released;
    }

    private void noteTie(String key) {
        if (TIED.get() != null) {
            tiedWhenEnded.add(key);
        }
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
