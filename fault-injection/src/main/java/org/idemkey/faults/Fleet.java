// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;

/** All clients together, and everything they saw. */
final class Fleet implements AutoCloseable {

    /** A client whose late repeats pile up sends the oldest before its time. */
    private static final int MAX_WAITING = 200;

    private final int size;
    private final long seed;
    private final Mode mode;
    private final List<Instance> instances;
    private final Stopwatch clock;
    private final AtomicLong ended = new AtomicLong();
    private final Queue<History> histories = new ConcurrentLinkedQueue<>();
    private final ExecutorService threads = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "client");
        thread.setDaemon(true);
        return thread;
    });

    Fleet(int size, long seed, Mode mode, List<Instance> instances, Stopwatch clock) {
        this.size = size;
        this.seed = seed;
        this.mode = mode;
        this.instances = List.copyOf(instances);
        this.clock = clock;
    }

    /** One key after the other, each to its end, until the one time; what is unfinished then, until the other. */
    void run(long untilMillis, long deadlineMillis) throws InterruptedException {
        List<Callable<Void>> tasks = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            int number = i;
            tasks.add(() -> {
                work(number, untilMillis, deadlineMillis);
                return null;
            });
        }
        all(tasks);
    }

    private record Waiting(History history, long dueMillis) {}

    private void work(int number, long untilMillis, long deadlineMillis)
            throws InterruptedException, ExecutionException {
        WorkPlan plan = new WorkPlan(seed, number);
        // Of its own: how often a request must be repeated is no part of the plan.
        SplittableRandom random = new SplittableRandom(seed ^ number);
        Deque<Waiting> waiting = new ArrayDeque<>();
        try (Client client = new Client(instances, random, clock)) {
            while (clock.millis() < untilMillis) {
                Intent intent = plan.next();
                History history = new History(intent, mode);
                histories.add(history);
                int first = random.nextInt(instances.size());
                if (intent.twist() == Intent.Twist.TWIN) {
                    history.repeatedOnPurpose();
                    Future<?> twin = threads.submit(() -> pursueAsTwin(history, 1 - first, deadlineMillis));
                    client.pursue(history, first, deadlineMillis);
                    twin.get();
                } else {
                    client.pursue(history, first, deadlineMillis);
                }
                ended.incrementAndGet();
                if (intent.twist() == Intent.Twist.LATE_REPEAT) {
                    waiting.add(new Waiting(history, clock.millis() + random.nextInt(2_000, 30_000)));
                } else if (intent.twist() == Intent.Twist.REUSE && history.isSettled()) {
                    client.reuse(history, random.nextInt(instances.size()));
                }
                while (!waiting.isEmpty()
                        && (waiting.getFirst().dueMillis() <= clock.millis() || waiting.size() > MAX_WAITING)) {
                    client.repeat(waiting.removeFirst().history(), random.nextInt(instances.size()));
                }
                Thread.sleep(plan.pause());
            }
        }
    }

    private Void pursueAsTwin(History history, int first, long deadlineMillis) throws InterruptedException {
        try (Client twin = new Client(instances, new SplittableRandom(first), clock)) {
            twin.pursue(history, first, deadlineMillis);
        }
        return null;
    }

    /**
     * Asks once more for each key, and for each payment that was acknowledged, now that everything is up.
     *
     * @param again whether to repeat requests that have their final answer: not where nothing is protected
     */
    void verify(boolean again, long deadlineMillis) throws InterruptedException {
        Queue<History> left = new ConcurrentLinkedQueue<>(histories);
        List<Callable<Void>> tasks = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            int number = i;
            tasks.add(() -> {
                try (Client client = new Client(instances, new SplittableRandom(seed + number), clock)) {
                    for (History history = left.poll(); history != null; history = left.poll()) {
                        verify(client, history, again, deadlineMillis);
                    }
                }
                return null;
            });
        }
        all(tasks);
    }

    private void verify(Client client, History history, boolean again, long deadlineMillis)
            throws InterruptedException {
        int first = Math.floorMod(history.intent().key().hashCode(), instances.size());
        if (again || !history.isSettled()) {
            client.pursue(history, first, deadlineMillis);
        }
        Answer success = history.success().orElse(null);
        if (success != null) {
            client.fetch(history, success.member("id").orElse("none"), deadlineMillis);
        }
    }

    private void all(List<Callable<Void>> tasks) throws InterruptedException {
        for (Future<Void> done : threads.invokeAll(tasks)) {
            try {
                done.get();
            } catch (ExecutionException e) {
                throw new IllegalStateException("a client failed", e.getCause());
            }
        }
    }

    /** How many requests have come to an end. */
    long ended() {
        return ended.get();
    }

    /** How many keys there are. */
    int operations() {
        return histories.size();
    }

    /** What was seen, in no order. */
    List<History> histories() {
        return List.copyOf(histories);
    }

    @Override
    public void close() {
        threads.shutdownNow();
    }
}
