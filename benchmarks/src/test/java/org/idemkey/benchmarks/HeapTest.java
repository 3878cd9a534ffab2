// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import jakarta.servlet.FilterChain;
import jakarta.servlet.http.HttpServletResponse;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.Idempotency;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore;
import org.idemkey.Lease;
import org.idemkey.StoredResponse;
import org.idemkey.Terms;
import org.idemkey.servlet.IdempotencyFilter;
import org.junit.jupiter.api.Test;

/** What requests in flight keep in memory: their body and their response, and hardly more. */
class HeapTest {

    private static final MemoryMXBean MEMORY = ManagementFactory.getMemoryMXBean();
    private static final int REQUESTS = 32;
    private static final byte[] PIECE = new byte[8192];

    /** Lets nobody complete before the latch, and keeps what all of them have brought by then. */
    private static final class SlowStore implements IdempotencyStore {

        private final IdempotencyStore store = new EnginePieces.FreeStore();
        private final CountDownLatch completing = new CountDownLatch(REQUESTS);
        private final CountDownLatch mayComplete = new CountDownLatch(1);

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
            completing.countDown();
            awaitUninterrupted(mayComplete);
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

    private static void awaitUninterrupted(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Waits for all of them, unless one has failed before. */
    private static void reach(CountDownLatch latch, List<Future<Long>> sent) throws Exception {
        while (!latch.await(100, TimeUnit.MILLISECONDS)) {
            for (Future<Long> one : sent) {
                if (one.isDone()) {
                    one.get();
                }
            }
        }
    }

    private static long live() {
        // Twice, for what finalizers and cleaners let go after the first.
        MEMORY.gc();
        MEMORY.gc();
        return MEMORY.getHeapMemoryUsage().getUsed();
    }

    @Test
    void aLargeResponse() throws Exception {
        assertNoRequestKeepsAFifthMore(60_000, true, 1_000_000);
    }

    @Test
    void aSmallResponse() throws Exception {
        assertNoRequestKeepsAFifthMore(60_000, true, 10_000);
    }

    /** Who doesn't know what comes has to make room for more than comes. */
    @Test
    void aBodyOfUnknownLength() throws Exception {
        assertNoRequestKeepsAFifthMore(35_000, false, 300_000);
    }

    private static void assertNoRequestKeepsAFifthMore(int bodyLength, boolean declared, int responseLength)
            throws Exception {
        // What is loaded and made once, by the first who need it, is nobody's.
        measure(bodyLength, declared, responseLength);
        Kept kept = measure(bodyLength, declared, responseLength);

        assertThat(kept.whileHandling() / bodyLength).isBetween(1.0, 1.2);
        assertThat(kept.whileCompleting() / (bodyLength + responseLength)).isBetween(1.0, 1.2);
    }

    /** What a request keeps on the heap, in bytes. */
    private record Kept(double whileHandling, double whileCompleting) {}

    private static Kept measure(int bodyLength, boolean declared, int responseLength) throws Exception {
        SlowStore store = new SlowStore();
        IdempotencyFilter filter = new IdempotencyFilter(Idempotency.of(store));
        byte[] body = new byte[bodyLength];
        CountDownLatch mayHandle = new CountDownLatch(1);
        CountDownLatch mayStart = new CountDownLatch(1);
        CountDownLatch started = new CountDownLatch(REQUESTS);
        CountDownLatch handling = new CountDownLatch(REQUESTS);
        FilterChain handler = (request, response) -> {
            handling.countDown();
            awaitUninterrupted(mayHandle);
            ((HttpServletResponse) response).setStatus(201);
            response.setContentType("application/octet-stream");
            OutputStream out = response.getOutputStream();
            for (int left = responseLength; left > 0; left -= PIECE.length) {
                out.write(PIECE, 0, Math.min(left, PIECE.length));
            }
        };
        ExecutorService threads = Executors.newFixedThreadPool(REQUESTS);
        try {
            List<Future<Long>> sent = new ArrayList<>();
            for (int i = 0; i < REQUESTS; i++) {
                sent.add(threads.submit(() -> {
                    started.countDown();
                    mayStart.await();
                    StubResponse response = new StubResponse();
                    filter.doFilter(new StubRequest("POST", body, declared), response, handler);
                    return response.sent();
                }));
            }
            started.await();
            long before = live();
            mayStart.countDown();
            reach(handling, sent);
            long whileHandling = live();
            mayHandle.countDown();
            reach(store.completing, sent);
            long whileCompleting = live();
            store.mayComplete.countDown();
            for (Future<Long> one : sent) {
                assertThat(one.get()).isEqualTo(responseLength);
            }

            return new Kept(
                    (whileHandling - before) / (double) REQUESTS, (whileCompleting - before) / (double) REQUESTS);
        } finally {
            mayStart.countDown();
            mayHandle.countDown();
            store.mayComplete.countDown();
            threads.shutdownNow();
        }
    }
}
