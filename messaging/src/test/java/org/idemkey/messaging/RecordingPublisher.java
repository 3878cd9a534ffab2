// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;

/** Remembers what is handed over, in that order, and acknowledges at once, unless told otherwise. */
final class RecordingPublisher implements MessagePublisher {

    private final List<OutboxEvent> handedOver = new CopyOnWriteArrayList<>();
    private final Map<String, CompletableFuture<Void>> held = new ConcurrentHashMap<>();
    private volatile Function<OutboxEvent, CompletionStage<?>> answer = RecordingPublisher::acknowledge;

    static CompletionStage<?> acknowledge(OutboxEvent event) {
        return CompletableFuture.completedFuture(null);
    }

    @Override
    public CompletionStage<?> publish(OutboxEvent event) {
        handedOver.add(event);
        CompletableFuture<Void> acknowledgement = held.get(event.eventType());
        return acknowledgement != null ? acknowledgement : answer.apply(event);
    }

    /** Answers as told from now on. */
    void answer(Function<OutboxEvent, CompletionStage<?>> answer) {
        this.answer = answer;
    }

    /** The acknowledgement of an event, to be given by the test. */
    CompletableFuture<Void> hold(String name) {
        return held.computeIfAbsent(name, n -> new CompletableFuture<>());
    }

    /** What was handed over so far, as {@code aggregate:n}. */
    List<String> names() {
        return Events.names(new ArrayList<>(handedOver));
    }
}
