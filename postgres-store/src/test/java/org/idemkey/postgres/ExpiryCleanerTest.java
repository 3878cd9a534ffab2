// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.idemkey.Bytes;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore.Completion;
import org.idemkey.IdempotencyStoreException;
import org.idemkey.Lease;
import org.idemkey.Scope;
import org.idemkey.StoredResponse;
import org.idemkey.Terms;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class ExpiryCleanerTest {

    private static final Fingerprint REQUEST = Fingerprint.of("a request");
    private static final Terms TERMS = new Terms(Duration.ofHours(1), Duration.ofHours(24));
    private static final StoredResponse ANSWER = StoredResponse.of(200, List.of(), Bytes.utf8("done"));
    private static final Duration OFTEN = Duration.ofMillis(1);

    @RegisterExtension
    static final TestDatabase database = new TestDatabase();

    // Line 36: two instances clean while requests run on keys that live; no request fails, no live row goes.
    @Test
    void aLargeBacklogGoesInBatchesWhileRequestsRun() throws Exception {
        int expired = 200_000;
        database.update(
                "INSERT INTO idempotency_key (scope, key, request_hash, claim_token, response_code, response_headers,"
                        + " response_body, created_at, expires_at) SELECT 'old', 'old-' || i, 'h', gen_random_uuid(), 200,"
                        + " '[]', 'x', now() - interval '25 hours', now() - interval '1 hour' - i * interval '1 ms'"
                        + " FROM generate_series(1, ?) AS i",
                expired);
        AtomicLong removed = new AtomicLong();
        ConcurrentLinkedQueue<Integer> batches = new ConcurrentLinkedQueue<>();
        ConcurrentLinkedQueue<RuntimeException> failures = new ConcurrentLinkedQueue<>();
        ExpiryCleaner.Listener listener = new ExpiryCleaner.Listener() {
            @Override
            public void removed(String name, long rows) {
                removed.addAndGet(rows);
            }

            @Override
            public void failed(String name, RuntimeException cause) {
                failures.add(cause);
            }
        };
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try (PostgresLeaseStore store = PostgresLeaseStore.create(database.pool())) {
            ExpiryCleaner.Purge purge = limit -> {
                int rows = store.purgeExpired(limit);
                batches.add(rows);
                return rows;
            };
            List<IdempotencyKey> live = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                live.add(new IdempotencyKey(Scope.caller("live"), "live-" + i));
                store.complete(acquire(store, live.get(i)), ANSWER);
            }
            AtomicBoolean stop = new AtomicBoolean();
            List<Future<Integer>> requests = new ArrayList<>();
            for (int t = 0; t < 4; t++) {
                int thread = t;
                requests.add(threads.submit(() -> requests(store, live, thread, stop)));
            }

            try (ExpiryCleaner one = cleaner(purge, listener);
                    ExpiryCleaner other = cleaner(purge, listener)) {
                await().until(() -> database.query(
                                "SELECT EXISTS (SELECT FROM idempotency_key WHERE expires_at <= now())")
                        .equals(false));
                assertThat(one).isNotSameAs(other);
            } finally {
                stop.set(true);
            }

            for (Future<Integer> request : requests) {
                assertThat(request.get()).isPositive();
            }
            assertThat(failures).isEmpty();
            assertThat(batches).allMatch(rows -> rows <= 1000);
            assertThat(batches.stream().mapToLong(Integer::intValue).sum())
                    .isEqualTo(removed.get())
                    .isGreaterThan(expired / 2);
            assertThat(database.query("SELECT count(*) FROM idempotency_key WHERE scope = 'old'"))
                    .isEqualTo(0L);
            for (IdempotencyKey key : live) {
                assertThat(store.claim(key, REQUEST, TERMS)).isEqualTo(new Claim.Completed(ANSWER));
            }
        } finally {
            threads.shutdownNow();
        }
    }

    private static ExpiryCleaner cleaner(ExpiryCleaner.Purge purge, ExpiryCleaner.Listener listener) {
        return ExpiryCleaner.builder()
                .purge("idempotency_key", purge)
                .interval(OFTEN)
                .listener(listener)
                .start();
    }

    /** Replays, first requests and retries of expired keys, until told to stop; answers how many. */
    private static int requests(PostgresLeaseStore store, List<IdempotencyKey> live, int thread, AtomicBoolean stop) {
        int done = 0;
        do {
            assertThat(store.claim(live.get(done % live.size()), REQUEST, TERMS))
                    .isEqualTo(new Claim.Completed(ANSWER));
            IdempotencyKey fresh = new IdempotencyKey(Scope.caller("live"), "fresh-" + thread + "-" + done);
            assertThat(store.complete(acquire(store, fresh), ANSWER)).isEqualTo(Completion.RECORDED);
            IdempotencyKey old = new IdempotencyKey(new Scope("old"), "old-" + (1 + thread + 4 * done));
            Lease reused = acquire(store, old);
            assertThat(store.complete(reused, ANSWER)).isEqualTo(Completion.RECORDED);
            assertThat(store.claim(old, REQUEST, TERMS)).isEqualTo(new Claim.Completed(ANSWER));
            database.update("DELETE FROM idempotency_key WHERE scope = 'old' AND key = ?", old.value());
            done++;
        } while (!stop.get());
        return done;
    }

    private static Lease acquire(PostgresLeaseStore store, IdempotencyKey key) {
        Claim claim = store.claim(key, REQUEST, TERMS);
        assertThat(claim).isInstanceOf(Claim.Acquired.class);
        return ((Claim.Acquired) claim).lease();
    }

    /** A full batch lets the next one begin where it has ended; less than a batch is all that there is. */
    @Test
    void whatAFullBatchHadToLeaveIsStillFound() throws Exception {
        database.update("DELETE FROM idempotency_key");
        try (PostgresLeaseStore store = PostgresLeaseStore.create(database.pool());
                Connection rival = database.connect()) {
            for (int i = 1; i <= 4; i++) {
                IdempotencyKey key = new IdempotencyKey(Scope.ANONYMOUS, "left-" + i);
                store.complete(acquire(store, key), ANSWER);
                database.update(
                        "UPDATE idempotency_key SET expires_at = now() - ? * interval '1 minute' WHERE key = ?",
                        10 - i,
                        key.value());
            }
            rival.setAutoCommit(false);
            rival.createStatement().execute("SELECT FROM idempotency_key WHERE key = 'left-1' FOR UPDATE");

            assertThat(store.purgeExpired(2)).isEqualTo(2);
            rival.rollback();
            assertThat(store.purgeExpired(2)).isEqualTo(2);
            assertThat(store.purgeExpired(2)).isZero();
        }
        assertThat(database.query("SELECT count(*) FROM idempotency_key")).isEqualTo(0L);
    }

    @Test
    void severalTablesShareACleanerAndOneThatFailsStopsNoOther() {
        AtomicInteger asked = new AtomicInteger();
        ConcurrentLinkedQueue<String> news = new ConcurrentLinkedQueue<>();
        CountDownLatch recovered = new CountDownLatch(1);
        try (ExpiryCleaner cleaner = ExpiryCleaner.builder()
                .purge("broken", limit -> {
                    if (asked.incrementAndGet() <= 2) {
                        throw new IdempotencyStoreException("away", null);
                    }
                    return 0;
                })
                .purge("processed_message", limit -> 0)
                .interval(OFTEN)
                .listener(new ExpiryCleaner.Listener() {
                    @Override
                    public void removed(String name, long rows) {
                        news.add(name + " " + rows);
                        if (name.equals("broken")) {
                            recovered.countDown();
                        }
                        throw new IllegalStateException("a listener's fault is no reason to stop");
                    }

                    @Override
                    public void failed(String name, RuntimeException cause) {
                        news.add(name + " " + cause.getMessage());
                    }
                })
                .start()) {
            await().until(() -> recovered.getCount() == 0);
            assertThat(news)
                    .startsWith("broken away", "processed_message 0", "broken away", "processed_message 0", "broken 0");
            assertThat(cleaner).isNotNull();
        }
    }

    @Test
    void closingEndsTheThreadAfterTheBatchThatItIsAt() throws Exception {
        CountDownLatch purging = new CountDownLatch(1);
        CountDownLatch closing = new CountDownLatch(1);
        AtomicInteger batches = new AtomicInteger();
        ExpiryCleaner cleaner = ExpiryCleaner.builder()
                .purge("endless", limit -> {
                    purging.countDown();
                    batches.incrementAndGet();
                    awaitQuietly(closing);
                    return limit;
                })
                .interval(OFTEN)
                .start();
        purging.await();
        Thread closer = new Thread(cleaner::close);
        closer.start();
        await().until(() -> closer.getState() == Thread.State.WAITING);

        closing.countDown();
        closer.join();

        assertThat(batches).hasValue(1);
        assertThat(cleaner.thread().isAlive()).isFalse();
        assertThat(cleaner.thread().isDaemon()).isTrue();
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void settingsOutOfBoundsAreRefused() {
        assertThatThrownBy(() -> ExpiryCleaner.builder().start())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("purge");
        assertThatThrownBy(() -> ExpiryCleaner.builder()
                        .purge("t", limit -> 0)
                        .interval(Duration.ZERO)
                        .start())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("interval");
        assertThatThrownBy(() -> ExpiryCleaner.builder()
                        .purge("t", limit -> 0)
                        .batchSize(0)
                        .start())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("batchSize");
    }
}
