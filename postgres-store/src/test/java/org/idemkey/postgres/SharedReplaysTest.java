// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.idemkey.postgres.Calls.answer;
import static org.idemkey.postgres.Calls.newKey;

import java.sql.Connection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.idemkey.Bytes;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.Lease;
import org.idemkey.StoredResponse;
import org.idemkey.StoredResponse.Header;
import org.idemkey.Terms;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Repetitions that come together are looked up together in the same-transaction store, and each gets its own answer. */
class SharedReplaysTest {

    @RegisterExtension
    static final TestDatabase DATABASE = new TestDatabase();

    private static final Terms TERMS = new Terms(Duration.ofMinutes(1), Duration.ofHours(1));
    private static final Fingerprint REQUEST = Fingerprint.of("a request");
    private static final Fingerprint OTHER_REQUEST = Fingerprint.of("another request");

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final AtomicBoolean hold = new AtomicBoolean();
    private final CountDownLatch held = new CountDownLatch(1);
    private final CountDownLatch mayGoOn = new CountDownLatch(1);
    private ProbedDataSource dataSource;
    private PostgresTransactionStore store;

    @BeforeEach
    void open() {
        dataSource = new ProbedDataSource(DATABASE.pool(), new ProbedDataSource.Probe() {
            @Override
            public void before(Connection connection, String sql) {
                if (hold.compareAndSet(true, false)) {
                    held.countDown();
                    awaitUninterrupted(mayGoOn);
                }
            }
        });
        store = PostgresTransactionStore.builder(dataSource).looks(1).build();
    }

    @AfterEach
    void close() {
        mayGoOn.countDown();
        threads.shutdownNow();
    }

    private static void awaitUninterrupted(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static StoredResponse told(int number) {
        return StoredResponse.of(201, List.of(new Header("X-Number", "" + number)), Bytes.utf8("body " + number));
    }

    private IdempotencyKey recorded(StoredResponse response) {
        IdempotencyKey key = newKey();
        Lease lease = ((Claim.Acquired) store.claim(key, REQUEST, TERMS)).lease();
        store.complete(lease, response);
        return key;
    }

    /** Claims the first key, and all others while the first one's look-up is held back. */
    private List<Claim> together(List<IdempotencyKey> keys, List<Fingerprint> requests) throws Exception {
        List<Thread> waiting = Collections.synchronizedList(new ArrayList<>());
        List<Future<Claim>> claims = new ArrayList<>();
        hold.set(true);
        claims.add(threads.submit(() -> store.claim(keys.get(0), requests.get(0), TERMS)));
        awaitUninterrupted(held);
        dataSource.statements().clear();
        for (int i = 1; i < keys.size(); i++) {
            IdempotencyKey key = keys.get(i);
            Fingerprint request = requests.get(i);
            claims.add(threads.submit(() -> {
                waiting.add(Thread.currentThread());
                return store.claim(key, request, TERMS);
            }));
        }
        await().until(() -> waiting.size() == keys.size() - 1
                && waiting.stream().allMatch(thread -> thread.getState() == Thread.State.TIMED_WAITING));
        mayGoOn.countDown();
        List<Claim> answers = new ArrayList<>();
        for (Future<Claim> claim : claims) {
            answers.add(claim.get());
        }
        return answers;
    }

    @Test
    void repetitionsShareRoundTripsAndEachGetsItsOwnAnswer() throws Exception {
        List<IdempotencyKey> keys = new ArrayList<>();
        List<Claim> expected = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            keys.add(recorded(told(i)));
            expected.add(new Claim.Completed(told(i)));
        }

        assertThat(together(keys, Collections.nCopies(20, REQUEST))).isEqualTo(expected);

        // The one that was held back, the sixteen that share the next one at most, and the rest.
        assertThat(dataSource.statements()).hasSize(3);
    }

    @Test
    void oneKeyAskedForTwiceIsAnsweredTwice() throws Exception {
        IdempotencyKey key = recorded(told(1));
        IdempotencyKey other = recorded(told(2));

        assertThat(together(List.of(other, key, key, other), Collections.nCopies(4, REQUEST)))
                .containsExactly(
                        new Claim.Completed(told(2)),
                        new Claim.Completed(told(1)),
                        new Claim.Completed(told(1)),
                        new Claim.Completed(told(2)));
    }

    @Test
    void whatIsNoRepetitionAnyMoreIsJudgedAsIfItHadComeAlone() throws Exception {
        IdempotencyKey gone = recorded(told(1));
        IdempotencyKey expired = recorded(told(2));
        IdempotencyKey mismatched = recorded(told(3));
        IdempotencyKey kept = recorded(told(4));
        DATABASE.update("DELETE FROM idempotency_key WHERE key = '" + gone.value() + "'");
        DATABASE.update("UPDATE idempotency_key SET expires_at = now() - interval '1 second' WHERE key = '"
                + expired.value() + "'");

        List<Claim> claims = together(
                List.of(kept, gone, expired, mismatched, kept),
                List.of(REQUEST, REQUEST, REQUEST, OTHER_REQUEST, REQUEST));

        assertThat(claims.get(0)).isEqualTo(new Claim.Completed(told(4)));
        assertThat(claims.get(3)).isEqualTo(new Claim.Mismatched());
        assertThat(claims.get(4)).isEqualTo(new Claim.Completed(told(4)));
        for (Claim claim : claims.subList(1, 3)) {
            assertThat(claim).isInstanceOf(Claim.Acquired.class);
            store.release(((Claim.Acquired) claim).lease());
        }
    }

    @Test
    void aTombstoneAmongOthersIsATombstone() throws Exception {
        IdempotencyKey tombstone = recorded(StoredResponse.tombstone(200));
        IdempotencyKey whole = recorded(answer(201));

        assertThat(together(List.of(whole, tombstone, whole), Collections.nCopies(3, REQUEST)))
                .containsExactly(
                        new Claim.Completed(answer(201)),
                        new Claim.Completed(StoredResponse.tombstone(200)),
                        new Claim.Completed(answer(201)));
    }
}
