// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import org.idemkey.IdempotencyStore;

/** How fast expired keys go, and what the requests feel of it. */
final class Expiry {

    private static final int CONNECTIONS = 8;
    /** What one statement removes: the clean-up's own default. */
    private static final int BATCH = 1000;

    private final Database database;
    private final IdempotencyStore store;

    Expiry(Database database, IdempotencyStore store) {
        this.database = database;
        this.store = store;
    }

    /**
     * What was measured.
     *
     * @param rowsPerSecond removed in batches, one right after the other, while nothing else happens
     * @param p99Ratio of first requests, while batches go one right after the other, to the same requests without
     */
    record Result(double rowsPerSecond, double p99Ratio, double low, double high) {}

    /** Adds so many expired rows, removes half of them by themselves, and the rest while requests run. */
    Result run(int port, long rows, Comparison.Effort effort) throws IOException, InterruptedException {
        database.execute("CREATE TEMPORARY TABLE pattern AS SELECT * FROM idempotency_key LIMIT 1;"
                + Rows.copies(
                        "idempotency_key", "pattern", rows, "interval '48 hours' - n * interval '1 millisecond'"));
        database.execute("VACUUM ANALYZE idempotency_key");
        database.execute("CHECKPOINT");
        long begin = System.nanoTime();
        long removed = 0;
        while (removed < rows / 2) {
            removed += purge();
        }
        double rowsPerSecond = removed * 1e9 / (System.nanoTime() - begin);
        Traffic traffic = Traffic.first("/same-transaction");
        List<Double> ratios = new ArrayList<>();
        try (Load load = new Load(port, CONNECTIONS)) {
            load.run(traffic, effort.warmUp());
            for (int i = 0; i < effort.pairs(); i++) {
                double quiet = load.run(traffic, effort.round()).p99();
                ratios.add(whilePurging(load, traffic, effort) / quiet);
            }
        }
        ratios.sort(null);
        return new Result(rowsPerSecond, ratios.get(ratios.size() / 2), ratios.get(0), ratios.get(ratios.size() - 1));
    }

    private int purge() {
        int removed = store.purgeExpired(BATCH);
        if (removed == 0) {
            throw new IllegalStateException("nothing is left to be removed: there were too few rows to measure with");
        }
        return removed;
    }

    private double whilePurging(Load load, Traffic traffic, Comparison.Effort effort) throws InterruptedException {
        AtomicBoolean enough = new AtomicBoolean();
        ExecutorService thread = Executors.newSingleThreadExecutor();
        try {
            CompletableFuture<Void> purging = CompletableFuture.runAsync(
                    () -> {
                        while (!enough.get()) {
                            purge();
                        }
                    },
                    thread);
            double p99 = load.run(traffic, effort.round()).p99();
            enough.set(true);
            purging.join();
            return p99;
        } finally {
            thread.shutdown();
        }
    }
}
