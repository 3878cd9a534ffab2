// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Does things later, and remembers the first one that failed. Thread-safe. */
final class Timetable implements AutoCloseable {

    /** Traps and restarts wait in their threads; more of them than this at once are late. */
    private static final int THREADS = 16;

    private final ScheduledExecutorService threads = Executors.newScheduledThreadPool(THREADS, task -> {
        Thread thread = new Thread(task, "timetable");
        thread.setDaemon(true);
        return thread;
    });
    private final AtomicReference<@Nullable Exception> failure = new AtomicReference<>();

    /** What is to be done. */
    @FunctionalInterface
    interface Task {
        void run() throws Exception;
    }

    /** Does it after a while. */
    void after(Duration delay, Task task) {
        Future<?> unused = threads.schedule(noting(task), delay.toMillis(), TimeUnit.MILLISECONDS);
    }

    /** The same, for who wants to wait until it is done. */
    Future<Void> done(Duration delay, Task task) {
        return threads.schedule(noting(task), delay.toMillis(), TimeUnit.MILLISECONDS);
    }

    /** Does it again and again. */
    void every(Duration period, Runnable task) {
        Future<?> unused =
                threads.scheduleAtFixedRate(task, period.toMillis(), period.toMillis(), TimeUnit.MILLISECONDS);
    }

    private Callable<Void> noting(Task task) {
        return () -> {
            try {
                task.run();
            } catch (Exception e) {
                failure.compareAndSet(null, e);
            }
            return null;
        };
    }

    /** The first failure, null as long as there is none. */
    @Nullable
    Exception failure() {
        return failure.get();
    }

    /** Drops what isn't done yet. */
    @Override
    public void close() {
        threads.shutdownNow();
    }
}
