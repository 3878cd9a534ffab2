// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.idemkey.messaging.KafkaMessagePublisher;

/**
 * Reads payments' events from Kafka into the ledger, on a thread of its own. Offsets are committed after the entries, so
 * a crash in between brings messages again, which the ledger knows. After a failure it begins anew where offsets were
 * committed; a message that can't be booked is never passed over, so those behind it wait for somebody to help.
 */
final class KafkaLedgerConsumer implements Runnable, AutoCloseable {

    private static final System.Logger LOG = System.getLogger(KafkaLedgerConsumer.class.getName());

    private static final Duration POLL = Duration.ofMillis(200);

    private static final Duration PAUSE_AFTER_FAILURE = Duration.ofSeconds(1);

    private static final int ANSWER_PATIENCE_MILLIS = 5_000;

    /** How long the messages of an instance that was killed wait for another one. */
    private static final int SILENCE_MILLIS = 10_000;

    /** To tell the broker that another instance may go on at once. */
    private static final Duration GOODBYE = Duration.ofSeconds(2);

    private static final Duration STOP_PATIENCE = Duration.ofSeconds(10);

    private final Map<String, Object> config;
    private final Ledger ledger;
    private final CountDownLatch stopped = new CountDownLatch(1);
    private final Thread thread = new Thread(this, "ledger-consumer");

    private KafkaLedgerConsumer(String bootstrapServers, Ledger ledger) {
        config = Map.of(
                "bootstrap.servers", bootstrapServers,
                "group.id", "ledger",
                "enable.auto.commit", false,
                "auto.offset.reset", "earliest",
                "session.timeout.ms", SILENCE_MILLIS,
                "default.api.timeout.ms", ANSWER_PATIENCE_MILLIS,
                "request.timeout.ms", ANSWER_PATIENCE_MILLIS);
        this.ledger = ledger;
        thread.setDaemon(true);
    }

    static KafkaLedgerConsumer start(String bootstrapServers, Ledger ledger) {
        KafkaLedgerConsumer consumer = new KafkaLedgerConsumer(bootstrapServers, ledger);
        consumer.thread.start();
        return consumer;
    }

    private boolean isStopped() {
        return stopped.getCount() == 0;
    }

    @Override
    public void run() {
        AtomicBoolean failing = new AtomicBoolean();
        while (!isStopped()) {
            try {
                read(() -> failing.set(false));
            } catch (SQLException | RuntimeException e) {
                if (!failing.getAndSet(true)) {
                    LOG.log(System.Logger.Level.WARNING, "the ledger could not take messages; trying again", e);
                }
                pause();
            }
        }
    }

    /** Returns when it is stopped. */
    private void read(Runnable onProgress) throws SQLException {
        KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
        try {
            consumer.subscribe(List.of(PaymentEvents.TOPIC));
            while (!isStopped()) {
                ConsumerRecords<String, String> messages = consumer.poll(POLL);
                for (ConsumerRecord<String, String> message : messages) {
                    ledger.book(
                            header(message, KafkaMessagePublisher.ID_HEADER),
                            header(message, KafkaMessagePublisher.TYPE_HEADER),
                            message.value());
                }
                if (!messages.isEmpty()) {
                    consumer.commitSync();
                    onProgress.run();
                }
            }
        } finally {
            consumer.close(CloseOptions.timeout(GOODBYE));
        }
    }

    private static String header(ConsumerRecord<?, ?> message, String name) {
        Header header = message.headers().lastHeader(name);
        if (header == null) {
            throw new KafkaException("a message without the header " + name + " on " + message.topic());
        }
        return new String(header.value(), UTF_8);
    }

    private void pause() {
        try {
            stopped.await(PAUSE_AFTER_FAILURE.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            stopped.countDown();
        }
    }

    /** Ends the thread after the messages that it is at, within bounds. */
    @Override
    public void close() {
        stopped.countDown();
        try {
            thread.join(STOP_PATIENCE.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
