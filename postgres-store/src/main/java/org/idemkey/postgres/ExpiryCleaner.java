// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static java.util.Objects.requireNonNull;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * Removes what has expired, in small batches, now and then, on a daemon thread of its own. Keys expire without it: it
 * only gives their space back.
 *
 * <p>Run one in every instance of an application: what one is removing, another passes by, and no two wake at the same
 * time for long, since each wait is drawn anew from half to one and a half times the interval. A database that is away is
 * asked again after the next wait. Where there is a backlog, a third of the time is left to the requests: after each batch
 * it rests for half as long as the batch took.
 *
 * <p>Thread-safe. {@link #close()} ends the thread.
 */
public final class ExpiryCleaner implements AutoCloseable {

    private final Map<String, Purge> purges;
    private final Duration interval;
    private final int batchSize;
    private final Listener listener;
    private final CountDownLatch closing = new CountDownLatch(1);
    private final Thread thread;

    private ExpiryCleaner(Builder builder) {
        purges = new LinkedHashMap<>(builder.purges);
        interval = builder.interval;
        batchSize = builder.batchSize;
        listener = builder.listener;
        thread = new Thread(this::run, "idemkey-cleaner");
        thread.setDaemon(true);
    }

    /** Starts a cleaner of one table with the defaults that {@link Builder} tells. */
    public static ExpiryCleaner start(String name, Purge purge) {
        return builder().purge(name, purge).start();
    }

    /** Starts with the defaults that each of the builder's methods tells. */
    public static Builder builder() {
        return new Builder();
    }

    /** Removes expired rows of one table, such as {@code store::purgeExpired}. */
    @FunctionalInterface
    public interface Purge {

        /**
         * Removes expired rows in one short transaction, and passes by those that somebody else holds.
         *
         * @param limit how many at most, 1 or more
         * @return how many were removed; fewer than the limit if no more are to be had for now
         */
        int purgeExpired(int limit);
    }

    /** Is told what was removed, for metrics and logs. Called on the cleaner's thread; exceptions are swallowed. */
    public interface Listener {

        /** One round over a table is done; {@code rows} were removed, 0 or more. */
        default void removed(String name, long rows) {}

        /** A table could not be cleaned this time. What was removed before stays so. */
        default void failed(String name, RuntimeException cause) {}
    }

    Thread thread() {
        return thread;
    }

    private void run() {
        try {
            while (!closing.await(pause(), TimeUnit.NANOSECONDS)) {
                sweep();
            }
        } catch (InterruptedException e) {
            // Nobody but the owner of this thread interrupts it; whoever does wants it to end.
        }
    }

    private long pause() {
        long nanos = interval.toNanos();
        return nanos / 2 + ThreadLocalRandom.current().nextLong(nanos);
    }

    /** One round over all tables. */
    private void sweep() throws InterruptedException {
        for (Map.Entry<String, Purge> each : purges.entrySet()) {
            String name = each.getKey();
            try {
                long rows = sweep(each.getValue());
                tell(() -> listener.removed(name, rows));
            } catch (RuntimeException e) {
                tell(() -> listener.failed(name, e));
            }
        }
    }

    /** Batches, until there is less than a batch to be had. A backlog leaves the database to the requests in between. */
    private long sweep(Purge purge) throws InterruptedException {
        long total = 0;
        while (true) {
            long begin = System.nanoTime();
            int removed = purge.purgeExpired(batchSize);
            total += removed;
            long rest = (System.nanoTime() - begin) / 2;
            if (removed < batchSize || closing.await(rest, TimeUnit.NANOSECONDS)) {
                return total;
            }
        }
    }

    private static void tell(Runnable news) {
        try {
            news.run();
        } catch (RuntimeException e) {
            // Watching must not change what is watched.
        }
    }

    /** Ends the thread, and waits for the batch that it is at. Idempotent. */
    @Override
    public void close() {
        closing.countDown();
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Collects settings; {@link #start()} checks them. Not thread-safe. */
    public static final class Builder {

        private final Map<String, Purge> purges = new LinkedHashMap<>();
        private Duration interval = Duration.ofMinutes(1);
        private int batchSize = 1000;
        private Listener listener = new Listener() {};

        private Builder() {}

        /**
         * A table to be cleaned, in the order given; at least one.
         *
         * @param name for the listener
         */
        public Builder purge(String name, Purge purge) {
            purges.put(requireNonNull(name, "name"), requireNonNull(purge, "purge"));
            return this;
        }

        /** How long to wait between two rounds, on average; 1 minute by default, 1 ms to 1 day. */
        public Builder interval(Duration interval) {
            this.interval = requireNonNull(interval, "interval");
            return this;
        }

        /** How many rows one transaction removes at most; 1000 by default, 1 or more. */
        public Builder batchSize(int rows) {
            batchSize = rows;
            return this;
        }

        /** Who is told; nobody by default. */
        public Builder listener(Listener listener) {
            this.listener = requireNonNull(listener, "listener");
            return this;
        }

        /**
         * Checks all settings, makes the cleaner and starts its thread.
         *
         * @throws IllegalArgumentException if a setting is out of its bounds; the message names it
         */
        public ExpiryCleaner start() {
            if (purges.isEmpty()) {
                throw new IllegalArgumentException("purge must be given at least once");
            }
            if (interval.compareTo(Duration.ofMillis(1)) < 0 || interval.compareTo(Duration.ofDays(1)) > 0) {
                throw new IllegalArgumentException("interval must be 1 ms to 1 day: " + interval);
            }
            if (batchSize < 1) {
                throw new IllegalArgumentException("batchSize must be 1 or more: " + batchSize);
            }
            ExpiryCleaner cleaner = new ExpiryCleaner(this);
            cleaner.thread.start();
            return cleaner;
        }
    }
}
