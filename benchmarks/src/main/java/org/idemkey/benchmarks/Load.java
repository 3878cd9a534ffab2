// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.HdrHistogram.Histogram;

/** A closed loop: so many connections, each of which sends its next request when it has the answer to its last. */
final class Load implements AutoCloseable {

    /** What the names of the clients' threads begin with. */
    static final String THREADS = "client-";

    private static final int DIGITS = 3;

    private final List<Client> clients = new ArrayList<>();
    private final ExecutorService threads;

    Load(int port, int connections) throws IOException {
        for (int i = 0; i < connections; i++) {
            clients.add(new Client(port));
        }
        AtomicInteger number = new AtomicInteger();
        threads =
                Executors.newFixedThreadPool(connections, loop -> new Thread(loop, THREADS + number.incrementAndGet()));
    }

    /** Sends for that long; each connection finishes what it has begun. */
    Round run(Traffic traffic, Duration length) throws InterruptedException {
        return run(traffic, length.toNanos(), Long.MAX_VALUE);
    }

    /** Sends so many requests from each connection. */
    Round run(Traffic traffic, long requestsEach) throws InterruptedException {
        return run(traffic, Long.MAX_VALUE, requestsEach);
    }

    private Round run(Traffic traffic, long nanos, long requestsEach) throws InterruptedException {
        List<Callable<Round>> loops = new ArrayList<>();
        for (Client client : clients) {
            loops.add(() -> loop(client, traffic, nanos, requestsEach));
        }
        List<Round> rounds = new ArrayList<>();
        for (Future<Round> loop : threads.invokeAll(loops)) {
            try {
                rounds.add(loop.get());
            } catch (ExecutionException e) {
                throw new IllegalStateException("a request to " + traffic.path() + " failed", e.getCause());
            }
        }
        return Round.together(rounds);
    }

    private static Round loop(Client client, Traffic traffic, long nanos, long requestsEach) throws IOException {
        byte[] request = traffic.template();
        int keyOffset = traffic.keyOffset();
        Histogram latencies = new Histogram(DIGITS);
        long random = Thread.currentThread().getId();
        long begin = System.nanoTime();
        long before = begin;
        for (long sent = 0; sent < requestsEach && before - begin < nanos; sent++) {
            random = Traffic.mix(random);
            traffic.keys().put(request, keyOffset, random);
            int status = client.exchange(request);
            if (status != 201 || client.replayed() != traffic.replay()) {
                throw new IOException("not the answer that was to be measured: " + client.text());
            }
            long after = System.nanoTime();
            latencies.recordValue(after - before);
            before = after;
        }
        return new Round(latencies, latencies.getTotalCount() * 1e9 / (before - begin));
    }

    @Override
    public void close() throws IOException {
        threads.shutdownNow();
        for (Client client : clients) {
            client.close();
        }
    }

    /**
     * What came of it.
     *
     * @param latencies of each request, in nanoseconds
     */
    record Round(Histogram latencies, double perSecond) {

        private static Round together(List<Round> rounds) {
            Histogram latencies = new Histogram(DIGITS);
            rounds.forEach(round -> latencies.add(round.latencies));
            return new Round(
                    latencies, rounds.stream().mapToDouble(Round::perSecond).sum());
        }

        long requests() {
            return latencies.getTotalCount();
        }

        double p99() {
            return latencies.getValueAtPercentile(99);
        }
    }
}
