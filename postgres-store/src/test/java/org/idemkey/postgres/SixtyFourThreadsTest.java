// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.idemkey.Bytes;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.Scope;
import org.idemkey.StoredResponse;
import org.idemkey.Terms;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Lines 28 and 36 at full load: 64 threads, 50 rounds, one key. Whoever acquires has an effect, a row without any
 * constraint, and completes while the others are still claiming.
 */
class SixtyFourThreadsTest {

    private static final int THREADS = 64;
    private static final int ROUNDS = 50;
    private static final Fingerprint REQUEST = Fingerprint.of("a request");
    private static final Terms TERMS = new Terms(Duration.ofHours(1), Duration.ofHours(24));

    @RegisterExtension
    static final TestDatabase database = new TestDatabase();

    @Test
    void aNewKeyRunsOncePerRound() throws Exception {
        run(false);
    }

    @Test
    void anExpiredKeyRunsOncePerRound() throws Exception {
        run(true);
    }

    private static void run(boolean sameKey) throws Exception {
        database.update("DROP TABLE IF EXISTS effect");
        database.update("CREATE TABLE effect (round int)");
        IdempotencyKey same = newKey();
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try (PostgresLeaseStore store = PostgresLeaseStore.create(database.pool())) {
            for (int round = 0; round < ROUNDS; round++) {
                database.elapse(TERMS.retention());
                IdempotencyKey key = sameKey ? same : newKey();
                StoredResponse answer = StoredResponse.of(201, List.of(), Bytes.utf8("round " + round));
                for (Claim claim : claims(threads, store, key, round, answer)) {
                    if (claim instanceof Claim.Completed completed) {
                        assertThat(completed.response()).isEqualTo(answer);
                    } else {
                        assertThat(claim).isInstanceOfAny(Claim.Acquired.class, Claim.InProgress.class);
                    }
                }
                assertThat(store.claim(key, REQUEST, TERMS)).isEqualTo(new Claim.Completed(answer));
            }
        } finally {
            threads.shutdownNow();
        }
        assertThat(database.query("SELECT count(*) FROM effect")).isEqualTo((long) ROUNDS);
        assertThat(database.query("SELECT count(DISTINCT round) FROM effect")).isEqualTo((long) ROUNDS);
    }

    private static List<Claim> claims(
            ExecutorService threads, PostgresLeaseStore store, IdempotencyKey key, int round, StoredResponse answer)
            throws Exception {
        CyclicBarrier start = new CyclicBarrier(THREADS);
        List<Future<Claim>> futures = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            futures.add(threads.submit(() -> {
                start.await();
                Claim claim = store.claim(key, REQUEST, TERMS);
                if (claim instanceof Claim.Acquired acquired) {
                    database.update("INSERT INTO effect VALUES (?)", round);
                    store.complete(acquired.lease(), answer);
                }
                return claim;
            }));
        }
        List<Claim> claims = new ArrayList<>();
        for (Future<Claim> future : futures) {
            claims.add(future.get());
        }
        return claims;
    }

    private static IdempotencyKey newKey() {
        return new IdempotencyKey(Scope.ANONYMOUS, UUID.randomUUID().toString());
    }
}
