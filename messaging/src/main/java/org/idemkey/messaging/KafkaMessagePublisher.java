// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.function.Function;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Publishes to Kafka, as Debezium's outbox event router does, so that consumers can't tell one from the other: to the
 * topic {@code outbox.event.<aggregate type>}, with the aggregate's id as key, the payload as value, and the headers
 * {@link #ID_HEADER} and {@link #TYPE_HEADER}, all in UTF-8.
 *
 * <p>An event is acknowledged once all in-sync replicas have it. How many those are at least is the topic's setting
 * {@code min.insync.replicas}. Since the key decides the partition, order within an aggregate lasts as long as the
 * topic's number of partitions.
 *
 * <p>Needs {@code kafka-clients} on the class path. Thread-safe.
 */
public final class KafkaMessagePublisher implements MessagePublisher, AutoCloseable {

    /** The header with the event's id, the message key for an {@link IdempotentConsumer}. */
    public static final String ID_HEADER = "id";

    /** The header with the event's type. */
    public static final String TYPE_HEADER = "eventType";

    private final Producer<String, byte[]> producer;
    private final Function<OutboxEvent, String> topic;
    private final Duration closeTimeout;

    private KafkaMessagePublisher(Builder builder) {
        producer = new KafkaProducer<>(builder.config, new StringSerializer(), new ByteArraySerializer());
        topic = builder.topic;
        closeTimeout = builder.closeTimeout;
    }

    /** A publisher with all defaults. Connects in the background, so a broker that is away is no error yet. */
    public static KafkaMessagePublisher connect(String bootstrapServers) {
        return builder(Map.of(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrapServers))
                .build();
    }

    /**
     * Collects the settings of a publisher.
     *
     * @param producerConfig Kafka's producer settings, which go before our defaults: no linger, since the relay hands a
     *     whole batch over at once; and times that fit into a relay's publish timeout (10 seconds for a delivery, 5 for
     *     a request, 5 to find the broker)
     */
    public static Builder builder(Map<String, ?> producerConfig) {
        return new Builder(producerConfig);
    }

    @Override
    public CompletionStage<?> publish(OutboxEvent event) {
        ProducerRecord<String, byte[]> message = new ProducerRecord<>(
                topic.apply(event), event.aggregateId(), event.payload().getBytes(UTF_8));
        message.headers().add(ID_HEADER, event.id().toString().getBytes(UTF_8));
        message.headers().add(TYPE_HEADER, event.eventType().getBytes(UTF_8));
        CompletableFuture<Void> acknowledged = new CompletableFuture<>();
        Future<?> unused = producer.send(message, (where, e) -> {
            if (e == null) {
                acknowledged.complete(null);
            } else {
                acknowledged.completeExceptionally(e);
            }
        });
        return acknowledged;
    }

    /** Closes the producer; waits up to the close timeout for what is in flight. Close the relays first. */
    @Override
    public void close() {
        producer.close(closeTimeout);
    }

    /** Collects settings; {@link #build()} checks them. Not thread-safe. */
    public static final class Builder {

        private final Map<String, Object> config = new HashMap<>();
        private Function<OutboxEvent, String> topic = event -> "outbox.event." + event.aggregateType();
        private Duration closeTimeout = Duration.ofSeconds(5);

        private Builder(Map<String, ?> producerConfig) {
            config.put(ProducerConfig.LINGER_MS_CONFIG, 0);
            config.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, 10_000);
            config.put(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, 5_000);
            config.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, 5_000);
            config.putAll(producerConfig);
        }

        /** The topic of an event; {@code outbox.event.<aggregate type>} by default. One aggregate, one topic. */
        public Builder topic(Function<OutboxEvent, String> topic) {
            this.topic = requireNonNull(topic, "topic");
            return this;
        }

        /** How long {@link KafkaMessagePublisher#close()} waits; 5 seconds by default, 0 at least. */
        public Builder closeTimeout(Duration timeout) {
            closeTimeout = requireNonNull(timeout, "timeout");
            return this;
        }

        /**
         * Checks all settings and makes the publisher.
         *
         * @throws IllegalArgumentException if the producer settings would weaken what a relay relies on: {@code acks}
         *     other than {@code all}, {@code enable.idempotence=false}, a {@code transactional.id}, or serializers
         * @throws org.apache.kafka.common.KafkaException if Kafka doesn't accept them
         */
        public KafkaMessagePublisher build() {
            if (closeTimeout.isNegative()) {
                throw new IllegalArgumentException("closeTimeout must be 0 or more");
            }
            refuse(ProducerConfig.TRANSACTIONAL_ID_CONFIG);
            refuse(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG);
            refuse(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG);
            fix(ProducerConfig.ACKS_CONFIG, "all", "-1");
            fix(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, "true");
            return new KafkaMessagePublisher(this);
        }

        private void refuse(String setting) {
            if (config.containsKey(setting)) {
                throw new IllegalArgumentException(setting + " must not be set");
            }
        }

        private void fix(String setting, String value, String... same) {
            Object given = config.putIfAbsent(setting, value);
            if (given != null
                    && !value.equalsIgnoreCase(given.toString())
                    && !List.of(same).contains(given.toString())) {
                throw new IllegalArgumentException(setting + " must be " + value);
            }
        }
    }
}
