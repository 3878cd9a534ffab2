// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import static java.util.Objects.requireNonNull;

import java.util.UUID;

/**
 * What happened to an aggregate, to be told to others.
 *
 * @param id what consumers know a repetition by; unique in the outbox
 * @param aggregateType the kind of thing that it happened to, 1 to 100 characters; decides the topic
 * @param aggregateId which one, 1 to 200 characters; the message's key. Order is kept among the events of one type and id
 * @param eventType what happened, 1 to 100 characters
 * @param payload JSON text. It is kept as {@code jsonb}, so what is published has the same content, but not the same
 *     white space or member order, and of repeated members the last one
 */
public record OutboxEvent(UUID id, String aggregateType, String aggregateId, String eventType, String payload) {

    /** Checks that all fits into the table; whether the payload is JSON, the database says. */
    public OutboxEvent {
        requireNonNull(id, "id");
        Lengths.require(aggregateType, 100, "aggregateType");
        Lengths.require(aggregateId, 200, "aggregateId");
        Lengths.require(eventType, 100, "eventType");
        requireNonNull(payload, "payload");
    }

    /** An event with a new random id. */
    public static OutboxEvent of(String aggregateType, String aggregateId, String eventType, String payload) {
        return new OutboxEvent(UUID.randomUUID(), aggregateType, aggregateId, eventType, payload);
    }

    /** Says which event it is, but not of whom or with what content: this ends up in logs. */
    @Override
    public String toString() {
        return eventType + " " + id;
    }
}
