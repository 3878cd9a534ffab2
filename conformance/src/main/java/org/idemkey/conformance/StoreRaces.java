// SPDX-License-Identifier: Apache-2.0
package org.idemkey.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntFunction;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore;
import org.idemkey.IdempotencyStore.Completion;
import org.idemkey.Lease;
import org.junit.jupiter.api.Test;

/** The sentences that only many threads can break: 1, 2, 3, 6 and 10. Half of the threads ask another instance. */
abstract class StoreRaces extends StoreTakeovers {

    private static final int THREADS = 32;
    private static final int ROUNDS = 20;

    // Sentence 1; line 28.
    @Test
    void ofManyClaimsOfAFreeKeyOneIsAcquired() throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            IdempotencyKey key = newKey();

            Lease lease = theOnlyLease(atOnce(THREADS, i -> () -> any(i).claim(key, REQUEST, TERMS)));

            assertThat(store().complete(lease, answer("done"))).isEqualTo(Completion.RECORDED);
            assertThat(atOnce(THREADS, i -> () -> any(i).claim(key, REQUEST, TERMS)))
                    .containsOnly(new Claim.Completed(answer("done")));
        }
    }

    // Line 36.
    @Test
    void ofManyClaimsOfAnExpiredKeyOneIsAcquired() throws Exception {
        IdempotencyKey key = newKey();
        store().complete(acquire(key), answer("first"));
        for (int round = 0; round < ROUNDS; round++) {
            elapse(TERMS.retention());

            Lease lease = theOnlyLease(atOnce(THREADS, i -> () -> any(i).claim(key, REQUEST, TERMS)));

            assertThat(lease.attempt()).isEqualTo(1);
            assertThat(store().complete(lease, answer("again"))).isEqualTo(Completion.RECORDED);
        }
    }

    // Line 38.
    @Test
    void ofManyTakersOneWins() throws Exception {
        IdempotencyKey key = newKey();
        Claim.OutcomeUnknown first = acquireAndLapse(key);
        for (int round = 0; round < ROUNDS; round++) {
            Claim.OutcomeUnknown unknown = round == 0 ? first : unknown(claim(key));

            Lease lease = theOnlyLease(atOnce(THREADS, i -> () -> any(i).takeOver(unknown.stale(), REQUEST, TERMS)));

            assertThat(lease.attempt()).isEqualTo(round + 2);
            elapse(TERMS.lease());
        }
    }

    @Test
    void ofManyClaimsOfALapsedKeyThatLeftNothingBehindOneIsAcquired() throws Exception {
        assumeLapsesAre(Lapse.ACQUIRED, "a lapsed claim of this store is not known to have left nothing behind");
        IdempotencyKey key = newKey();
        acquire(key);
        for (int round = 0; round < ROUNDS; round++) {
            elapse(TERMS.lease());

            Lease lease = theOnlyLease(atOnce(THREADS, i -> () -> any(i).claim(key, REQUEST, TERMS)));

            assertThat(lease.attempt()).isEqualTo(round + 2);
        }
    }

    @Test
    void twoRequestsThatRaceForOneKeyAreNeverBothAcquired() throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            IdempotencyKey key = newKey();
            Fingerprint[] requests = {REQUEST, OTHER_REQUEST};

            List<Claim> claims = atOnce(THREADS, i -> () -> any(i).claim(key, requests[i / 2 % 2], TERMS));

            List<Lease> leases = leases(claims);
            assertThat(leases).hasSize(1);
            assertThat(store().complete(leases.get(0), answer("done"))).isEqualTo(Completion.RECORDED);
            List<Claim> later = new ArrayList<>(claims);
            later.removeIf(claim -> claim instanceof Claim.InProgress || claim instanceof Claim.Mismatched);
            assertThat(later).singleElement().isInstanceOf(Claim.Acquired.class);
        }
    }

    // Sentence 3.
    @Test
    void ofCompletionAndReleaseOneActs() throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            IdempotencyKey key = newKey();
            Lease lease = acquire(key);

            List<Boolean> acted = atOnce(
                    4,
                    i -> () -> i % 2 == 0
                            ? any(i / 2).complete(lease, answer("done")) == Completion.RECORDED
                            : any(i / 2).release(lease));

            assertThat(acted).containsOnlyOnce(true);
            boolean completed = acted.get(0) || acted.get(2);
            assertThat(claim(key)).isInstanceOf(completed ? Claim.Completed.class : Claim.Acquired.class);
        }
    }

    @Test
    void ofCompletionAndTakeoverOneActs() throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            IdempotencyKey key = newKey();
            Claim.OutcomeUnknown unknown = acquireAndLapse(key);

            List<Boolean> acted = atOnce(
                    2,
                    i -> () -> i == 0
                            ? store().complete(unknown.stale(), answer("late")) == Completion.RECORDED
                            : peer().takeOver(unknown.stale(), REQUEST, TERMS) instanceof Claim.Acquired);

            assertThat(acted).containsOnlyOnce(true);
            assertThat(claim(key)).isInstanceOf(acted.get(0) ? Claim.Completed.class : Claim.InProgress.class);
        }
    }

    // Line 39: whichever comes first, the other one knows.
    @Test
    void ofConfirmationAndTakeoverOneActs() throws Exception {
        assumeLapsesAre(Lapse.UNKNOWN, "no lapsed claim of this store has an unknown outcome");
        confirm(acquire(newKey()));
        for (int round = 0; round < ROUNDS; round++) {
            IdempotencyKey key = newKey();
            Claim.OutcomeUnknown unknown = acquireAndLapse(key);

            List<Boolean> acted = atOnce(
                    2,
                    i -> () -> i == 0
                            ? confirms(unknown.stale())
                            : peer().takeOver(unknown.stale(), REQUEST, TERMS) instanceof Claim.Acquired);

            assertThat(acted).containsOnlyOnce(true);
            elapse(TERMS.lease());
            assertThat(unknown(claim(key)).effectConfirmed()).isEqualTo(acted.get(0));
        }
    }

    private boolean confirms(Lease lease) throws Exception {
        try {
            confirm(lease);
            return true;
        } catch (Lease.LostException e) {
            return false;
        }
    }

    // Sentence 10: a row that is gone again is no reason for any other answer.
    @Test
    void claimsThatRaceWithReleasesClaimAnew() throws Exception {
        IdempotencyKey key = newKey();
        AtomicInteger owners = new AtomicInteger();

        List<Integer> acquired = atOnce(8, i -> () -> {
            int mine = 0;
            for (int round = 0; round < 10 * ROUNDS; round++) {
                Claim claim = any(i).claim(key, REQUEST, TERMS);
                if (claim instanceof Claim.Acquired ours) {
                    assertThat(owners.incrementAndGet()).isEqualTo(1);
                    assertThat(any(i + 1).claim(key, REQUEST, TERMS)).isInstanceOf(Claim.InProgress.class);
                    owners.decrementAndGet();
                    assertThat(any(i).release(ours.lease())).isTrue();
                    mine++;
                } else {
                    assertThat(claim).isInstanceOf(Claim.InProgress.class);
                }
            }
            return mine;
        });

        assertThat(acquired.stream().mapToInt(Integer::intValue).sum()).isPositive();
        assertThat(claim(key)).isInstanceOf(Claim.Acquired.class);
    }

    // Sentence 6; line 36: a purge that has seen a row expired must not take the claim that took its place.
    @Test
    void aPurgeTakesNoRowThatIsClaimedAnewMeanwhile() throws Exception {
        List<IdempotencyKey> keys = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            keys.add(newKey());
            store().complete(acquire(keys.get(i)), answer("old"));
        }
        for (int round = 0; round < ROUNDS; round++) {
            elapse(TERMS.retention());
            AtomicBoolean stop = new AtomicBoolean();
            AtomicInteger claiming = new AtomicInteger(4);

            atOnce(6, i -> () -> {
                if (i >= 4) {
                    while (!stop.get()) {
                        any(i).purgeExpired(5);
                    }
                    return true;
                }
                try {
                    for (int k = i; k < keys.size(); k += 4) {
                        Lease lease = leaseOf(any(i).claim(keys.get(k), REQUEST, TERMS));
                        assertThat(any(i).complete(lease, answer("new"))).isEqualTo(Completion.RECORDED);
                        assertThat(any(i).claim(keys.get(k), REQUEST, TERMS))
                                .isEqualTo(new Claim.Completed(answer("new")));
                    }
                } finally {
                    stop.set(claiming.decrementAndGet() == 0);
                }
                return true;
            });
        }
    }

    private IdempotencyStore any(int i) {
        return i % 2 == 0 ? store() : peer();
    }

    private static Lease theOnlyLease(List<Claim> claims) {
        List<Lease> leases = leases(claims);
        assertThat(leases).hasSize(1);
        assertThat(claims.stream().filter(Claim.InProgress.class::isInstance)).hasSize(claims.size() - 1);
        return leases.get(0);
    }

    private static List<Lease> leases(List<Claim> claims) {
        return claims.stream()
                .filter(Claim.Acquired.class::isInstance)
                .map(claim -> ((Claim.Acquired) claim).lease())
                .toList();
    }

    /** Runs a task in each of so many threads, which all start together, and answers their results in order. */
    private static <T> List<T> atOnce(int threads, IntFunction<Callable<T>> tasks) throws Exception {
        ExecutorService executor = Executors.newFixedThreadPool(threads);
        try {
            CyclicBarrier start = new CyclicBarrier(threads);
            List<Future<T>> futures = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                Callable<T> task = tasks.apply(i);
                futures.add(executor.submit(() -> {
                    start.await();
                    return task.call();
                }));
            }
            List<T> results = new ArrayList<>();
            for (Future<T> future : futures) {
                results.add(future.get());
            }
            return results;
        } finally {
            executor.shutdownNow();
        }
    }
}
