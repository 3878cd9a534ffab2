// SPDX-License-Identifier: Apache-2.0
package org.idemkey.cache;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.idemkey.Bytes;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore;
import org.idemkey.IdempotencyStore.Completion;
import org.idemkey.InMemoryIdempotencyStore;
import org.idemkey.Lease;
import org.idemkey.Scope;
import org.idemkey.StoredResponse;
import org.idemkey.Terms;
import org.junit.jupiter.api.Test;

class ReplayCacheTest {

    private static final Terms TERMS = new Terms(Duration.ofMinutes(1), Duration.ofHours(24));
    private static final Fingerprint REQUEST = Fingerprint.of("a request");
    private static final Fingerprint OTHER_REQUEST = Fingerprint.of("another request");

    private final Time time = new Time();
    private final AskedStore store = new AskedStore(new InMemoryIdempotencyStore(time));
    private final ReplayCache cache =
            ReplayCache.builder(store).maxAge(Duration.ofDays(30)).clock(time).build();

    private static IdempotencyKey newKey() {
        return new IdempotencyKey(Scope.ANONYMOUS, UUID.randomUUID().toString());
    }

    private static StoredResponse answer(int bytes) {
        return StoredResponse.of(201, List.of(), Bytes.wrap(new byte[bytes]));
    }

    private Lease acquire(IdempotencyKey key) {
        return ((Claim.Acquired) cache.claim(key, REQUEST, TERMS)).lease();
    }

    private IdempotencyKey completed(int bytes) {
        IdempotencyKey key = newKey();
        assertThat(cache.complete(acquire(key), answer(bytes))).isEqualTo(Completion.RECORDED);
        return key;
    }

    /** Whether a repetition is answered without the store, which is asked for the same answer afterwards. */
    private boolean isCached(IdempotencyKey key) {
        int before = store.claims.get();
        Claim claim = cache.claim(key, REQUEST, TERMS);
        boolean cached = store.claims.get() == before;
        if (cached) {
            assertThat(claim).isEqualTo(store.claim(key, REQUEST, TERMS));
        }
        return cached;
    }

    @Test
    void aRepetitionIsAnsweredWithoutTheStore() {
        assertThat(isCached(completed(10))).isTrue();
    }

    @Test
    void aTombstoneIsRemembered() {
        IdempotencyKey key = newKey();
        cache.complete(acquire(key), StoredResponse.tombstone(200));

        assertThat(isCached(key)).isTrue();
    }

    @Test
    void anotherRequestUnderTheKeyIsTheStoresAffair() {
        IdempotencyKey key = completed(10);
        int before = store.claims.get();

        assertThat(cache.claim(key, OTHER_REQUEST, TERMS)).isEqualTo(new Claim.Mismatched());
        assertThat(store.claims).hasValue(before + 1);
        assertThat(isCached(key)).isTrue();
    }

    @Test
    void aKeyInFlightIsTheStoresAffair() {
        IdempotencyKey key = newKey();
        acquire(key);

        assertThat(cache.claim(key, REQUEST, TERMS)).isInstanceOf(Claim.InProgress.class);
    }

    @Test
    void aReleasedKeyIsFree() {
        IdempotencyKey key = newKey();
        cache.release(acquire(key));

        assertThat(cache.claim(key, OTHER_REQUEST, TERMS)).isInstanceOf(Claim.Acquired.class);
    }

    @Test
    void whatOthersHaveRecordedIsNotRemembered() {
        IdempotencyKey key = newKey();
        Lease lease = ((Claim.Acquired) store.claim(key, REQUEST, TERMS)).lease();
        store.complete(lease, answer(10));

        assertThat(isCached(key)).isFalse();
        assertThat(isCached(key)).isFalse();
    }

    @Test
    void anAnswerThatIsNotRecordedYetIsNotRemembered() {
        IdempotencyKey key = newKey();
        Lease lease = acquire(key);
        store.completion = Completion.DEFERRED;

        assertThat(cache.complete(lease, answer(10))).isEqualTo(Completion.DEFERRED);
        assertThat(isCached(key)).isFalse();
    }

    @Test
    void anAnswerOfALostClaimIsNotRemembered() {
        IdempotencyKey key = newKey();
        Lease stale = acquire(key);
        store.release(stale);
        Lease current = acquire(key);

        assertThat(cache.complete(stale, answer(10))).isEqualTo(Completion.LOST);
        assertThat(isCached(key)).isFalse();
        assertThat(cache.complete(current, answer(20))).isEqualTo(Completion.RECORDED);
        assertThat(cache.claim(key, REQUEST, TERMS)).isEqualTo(new Claim.Completed(answer(20)));
    }

    @Test
    void aTakenOverKeyIsRememberedByItsNewOwner() {
        IdempotencyKey key = newKey();
        acquire(key);
        time.pass(TERMS.lease());
        Claim.OutcomeUnknown unknown = (Claim.OutcomeUnknown) cache.claim(key, REQUEST, TERMS);
        Lease lease = ((Claim.Acquired) cache.takeOver(unknown.stale(), REQUEST, TERMS)).lease();
        cache.complete(lease, answer(10));

        assertThat(isCached(key)).isTrue();
        time.pass(TERMS.retention());
        assertThat(cache.claim(key, REQUEST, TERMS)).isInstanceOf(Claim.Acquired.class);
    }

    // Line 35: retention counts from the claim, however long the handler took.
    @Test
    void nothingIsAnsweredOnceTheKeyHasExpired() {
        IdempotencyKey key = newKey();
        Lease lease = acquire(key);
        time.pass(Duration.ofHours(20));
        cache.complete(lease, answer(10));
        time.pass(Duration.ofHours(4).minusNanos(1));
        assertThat(isCached(key)).isTrue();

        time.pass(Duration.ofNanos(1));

        assertThat(cache.claim(key, OTHER_REQUEST, TERMS)).isInstanceOf(Claim.Acquired.class);
    }

    @Test
    void aRetentionCountsInWholeMillisecondsAsStoresKeepIt() {
        IdempotencyKey key = newKey();
        Terms terms = new Terms(Duration.ofMinutes(1), Duration.ofMillis(5).plusNanos(999_999));
        Lease lease = ((Claim.Acquired) cache.claim(key, REQUEST, terms)).lease();
        cache.complete(lease, answer(10));
        time.pass(Duration.ofMillis(5));

        assertThat(isCached(key)).isFalse();
    }

    @Test
    void noAnswerIsOlderThanItsAge() {
        ReplayCache young = ReplayCache.builder(store)
                .maxAge(Duration.ofMinutes(1))
                .clock(time)
                .build();
        IdempotencyKey key = newKey();
        Lease lease = ((Claim.Acquired) young.claim(key, REQUEST, TERMS)).lease();
        young.complete(lease, answer(10));
        time.pass(Duration.ofMinutes(1).minusNanos(1));
        int before = store.claims.get();
        young.claim(key, REQUEST, TERMS);
        assertThat(store.claims).hasValue(before);

        time.pass(Duration.ofNanos(1));

        young.claim(key, REQUEST, TERMS);
        assertThat(store.claims).hasValue(before + 1);
    }

    @Test
    void allAnswersTogetherStayWithinTheBytes() {
        ReplayCache small =
                ReplayCache.builder(store).maxBytes(100_000).clock(time).build();
        List<IdempotencyKey> keys = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            IdempotencyKey key = newKey();
            small.complete(((Claim.Acquired) small.claim(key, REQUEST, TERMS)).lease(), answer(10_000));
            keys.add(key);
        }
        int before = store.claims.get();

        keys.forEach(
                key -> assertThat(small.claim(key, REQUEST, TERMS)).isEqualTo(new Claim.Completed(answer(10_000))));

        assertThat(store.claims.get() - before).isBetween(91, 99);
    }

    @Test
    void itIsTransactionalIfItsStoreIs() {
        assertThat(cache.isTransactional()).isFalse();
        store.transactional = true;
        assertThat(cache.isTransactional()).isTrue();
    }

    @Test
    void settingsOutOfBoundsAreNamed() {
        assertThatThrownBy(() -> ReplayCache.builder(store).maxBytes(0).build()).hasMessageContaining("maxBytes");
        assertThatThrownBy(
                        () -> ReplayCache.builder(store).maxAge(Duration.ZERO).build())
                .hasMessageContaining("maxAge");
    }

    /** Counts what is asked of a real store, and may be told what to answer. */
    private static final class AskedStore implements IdempotencyStore {

        private final IdempotencyStore real;
        private final AtomicInteger claims = new AtomicInteger();
        private Completion completion;
        private boolean transactional;

        AskedStore(IdempotencyStore real) {
            this.real = real;
        }

        @Override
        public Claim claim(IdempotencyKey key, Fingerprint fingerprint, Terms terms) {
            claims.incrementAndGet();
            return real.claim(key, fingerprint, terms);
        }

        @Override
        public Claim takeOver(Lease stale, Fingerprint fingerprint, Terms terms) {
            return real.takeOver(stale, fingerprint, terms);
        }

        @Override
        public Completion complete(Lease lease, StoredResponse response) {
            return completion == null ? real.complete(lease, response) : completion;
        }

        @Override
        public boolean release(Lease lease) {
            return real.release(lease);
        }

        @Override
        public int purgeExpired(int limit) {
            return real.purgeExpired(limit);
        }

        @Override
        public boolean isTransactional() {
            return transactional;
        }
    }
}
