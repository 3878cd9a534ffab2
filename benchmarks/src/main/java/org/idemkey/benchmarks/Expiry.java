// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.idemkey.IdempotencyStore;
import org.idemkey.postgres.ExpiryCleaner;

/** How fast expired keys go, and what the requests feel of it. */
final class Expiry {

    private static final int CONNECTIONS = 8;
    /** What one statement removes: the cleaner's own default. */
    private static final int BATCH = 1000;

    /** A p99 wants more requests than a ratio does: so many of the other comparisons' rounds make one. */
    private static final int ROUNDS_IN_ONE = 3;

    private final Database database;
    private final IdempotencyStore store;

    Expiry(Database database, IdempotencyStore store) {
        this.database = database;
        this.store = store;
    }

    /**
     * What was measured.
     *
     * @param rowsPerSecond removed by a cleaner that has a backlog, while nothing else happens
     * @param p99Ratio of first requests, while a cleaner has a backlog, to the same requests without one
     */
    record Result(double rowsPerSecond, double p99Ratio, double low, double high) {}

    /** Adds so many expired rows, removes half of them by themselves, and the rest while requests run. */
    Result run(int port, long rows, Comparison.Effort effort) throws IOException, InterruptedException {
        database.execute("CREATE TEMPORARY TABLE pattern AS SELECT * FROM idempotency_key LIMIT 1;"
                + Rows.copies(
                        "idempotency_key", "pattern", rows, "interval '48 hours' - n * interval '1 millisecond'"));
        database.execute("VACUUM ANALYZE idempotency_key");
        database.execute("CHECKPOINT");
        double rowsPerSecond = remove(rows / 2);
        Traffic traffic = Traffic.first("/same-transaction");
        List<Double> ratios = new ArrayList<>();
        try (Load load = new Load(port, CONNECTIONS)) {
            load.run(traffic, effort.warmUp());
            Duration round = effort.round().multipliedBy(ROUNDS_IN_ONE);
            for (int i = 0; i < effort.pairs(); i += 2) {
                double quiet = load.run(traffic, round).p99();
                ratios.add(whilePurging(load, traffic, round) / quiet);
            }
        }
        ratios.sort(null);
        return new Result(rowsPerSecond, ratios.get(ratios.size() / 2), ratios.get(0), ratios.get(ratios.size() - 1));
    }

    /** Lets a cleaner remove so many rows, and tells how many it removes per second. */
    private double remove(long rows) throws InterruptedException {
        CountDownLatch batches = new CountDownLatch((int) (rows / BATCH));
        AtomicLong begin = new AtomicLong();
        ExpiryCleaner cleaner = cleaner(() -> begin.compareAndSet(0, System.nanoTime()), batches::countDown);
        try (cleaner) {
            batches.await();
        }
        return (double) (rows / BATCH * BATCH) * 1e9 / (System.nanoTime() - begin.get());
    }

    private double whilePurging(Load load, Traffic traffic, Duration round) throws InterruptedException {
        AtomicLong batches = new AtomicLong();
        double p99;
        ExpiryCleaner cleaner = cleaner(() -> {}, batches::incrementAndGet);
        try (cleaner) {
            p99 = load.run(traffic, round).p99();
        }
        if (batches.get() == 0) {
            throw new IllegalStateException("nothing was removed meanwhile: there were too few rows to measure with");
        }
        return p99;
    }

    /** A cleaner as an application has it, but that it starts at once. */
    private ExpiryCleaner cleaner(Runnable before, Runnable after) {
        return ExpiryCleaner.builder()
                .interval(Duration.ofMillis(1))
                .batchSize(BATCH)
                .purge("keys", limit -> {
                    before.run();
                    int removed = store.purgeExpired(limit);
                    if (removed == limit) {
                        after.run();
                    }
                    return removed;
                })
                .start();
    }
}
