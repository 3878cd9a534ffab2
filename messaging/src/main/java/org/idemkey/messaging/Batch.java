// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One batch on its way to the broker. The aggregates go side by side, each one's events one by one: the next is handed
 * over when the one before it is acknowledged. That, and not a broker's promise about what is in flight, is what keeps
 * the order: whatever fails, is late, or is sent again by a relay that believes this one dead, the first time that the
 * broker gets an event it has all that go before it.
 *
 * <p>For the relay's thread alone; only {@link #answers} is shared with those who acknowledge.
 */
final class Batch {

    private final MessagePublisher publisher;
    private final Duration timeout;
    private final BooleanSupplier stopping;
    private final Map<Aggregate, Queue<OutboxEvent>> waiting = new LinkedHashMap<>();
    private final Set<OutboxEvent> inFlight = new LinkedHashSet<>();
    private final BlockingQueue<Answer> answers = new LinkedBlockingQueue<>();
    private final List<OutboxEvent> acknowledged = new ArrayList<>();
    private final Map<OutboxEvent, Throwable> failed = new LinkedHashMap<>();
    private long deadline;

    private record Answer(OutboxEvent event, @Nullable Throwable failure) {}

    /**
     * A batch.
     *
     * @param timeout how long to wait for acknowledgements in all
     * @param stopping says when to hand nothing more over
     */
    Batch(List<OutboxEvent> events, MessagePublisher publisher, Duration timeout, BooleanSupplier stopping) {
        this.publisher = publisher;
        this.timeout = timeout;
        this.stopping = stopping;
        for (OutboxEvent event : events) {
            waiting.computeIfAbsent(Aggregate.of(event), a -> new ArrayDeque<>())
                    .add(event);
        }
    }

    /** Publishes what it can, and waits until it is known what became of it, or the time is over. */
    void run() throws InterruptedException {
        deadline = System.nanoTime() + timeout.toNanos();
        Iterator<Queue<OutboxEvent>> aggregates = waiting.values().iterator();
        while (aggregates.hasNext() && !isOver()) {
            handOver(aggregates.next());
            for (Answer answer = answers.poll(); answer != null; answer = answers.poll()) {
                settle(answer);
            }
        }
        while (!inFlight.isEmpty()) {
            Answer answer = answers.poll(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
            if (answer == null) {
                inFlight.forEach(event -> failed.put(event, new TimeoutException("not acknowledged in time")));
                return;
            }
            settle(answer);
        }
    }

    /** What the broker has for good, in the order of its acknowledgements. */
    List<OutboxEvent> acknowledged() {
        return acknowledged;
    }

    /** The events that it isn't known to have, one per aggregate, and why. */
    Map<OutboxEvent, Throwable> failed() {
        return failed;
    }

    /** Also when all has failed so far: a broker that is away need not be asked once per aggregate. */
    private boolean isOver() {
        return stopping.getAsBoolean()
                || deadline - System.nanoTime() <= 0
                || (!failed.isEmpty() && acknowledged.isEmpty());
    }

    private void handOver(Queue<OutboxEvent> aggregate) {
        OutboxEvent event = aggregate.remove();
        inFlight.add(event);
        try {
            publisher.publish(event).whenComplete((result, e) -> answers.add(new Answer(event, e)));
        } catch (RuntimeException e) {
            answers.add(new Answer(event, e));
        }
    }

    private void settle(Answer answer) {
        OutboxEvent event = answer.event();
        if (!inFlight.remove(event)) {
            return;
        }
        Throwable failure = answer.failure();
        if (failure != null) {
            failed.put(
                    event,
                    failure instanceof CompletionException && failure.getCause() != null
                            ? failure.getCause()
                            : failure);
            return;
        }
        acknowledged.add(event);
        Queue<OutboxEvent> aggregate = waiting.get(Aggregate.of(event));
        if (aggregate != null && !aggregate.isEmpty() && !isOver()) {
            handOver(aggregate);
        }
    }
}
