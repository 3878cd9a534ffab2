// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.idemkey.messaging.IdempotentConsumer.Outcome;
import org.idemkey.testkafka.TestKafka;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Whatever makes Kafka deliver a message again: one effect. */
class ConsumersOnKafkaTest {

    @RegisterExtension
    static final TestDatabase DATABASE = new TestDatabase();

    private final TestKafka kafka = TestKafka.shared();
    private final IdempotentConsumer ledger = new IdempotentConsumer("ledger");
    private final List<Outcome> outcomes = Collections.synchronizedList(new ArrayList<>());
    private String aggregateType;
    private TopicPartition partition;

    @BeforeEach
    void createTopic(TestInfo test) throws Exception {
        DATABASE.clear();
        aggregateType = test.getTestMethod().orElseThrow().getName();
        partition = new TopicPartition("outbox.event." + aggregateType, 0);
        kafka.createTopic(partition.topic(), 1);
    }

    @Test
    void theSameMessageTwice() throws Exception {
        OutboxEvent event = OutboxEvent.of(aggregateType, "p-1", "Paid", "{}");
        publish(List.of(event, event));

        try (KafkaConsumer<String, String> consumer = kafka.consumer(Map.of("group.id", aggregateType))) {
            consumer.subscribe(List.of(partition.topic()));
            consumeAll(consumer, 2);
        }

        assertThat(outcomes).containsExactly(Outcome.PROCESSED, Outcome.DUPLICATE);
        assertThat(effects()).containsExactly(event.id().toString());
    }

    @Test
    void twoConsumersAtOnce() throws Exception {
        publish(events(500));
        ExecutorService threads = Executors.newFixedThreadPool(2);
        CyclicBarrier start = new CyclicBarrier(2);
        try {
            List<Future<?>> consumers = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                consumers.add(threads.submit(() -> {
                    try (KafkaConsumer<String, String> consumer = kafka.consumer(Map.of())) {
                        // Not as a group: both get everything.
                        consumer.assign(List.of(partition));
                        start.await();
                        consumeAll(consumer, 500);
                    }
                    return null;
                }));
            }
            for (Future<?> consumer : consumers) {
                consumer.get(2, TimeUnit.MINUTES);
            }
        } finally {
            threads.shutdownNow();
        }

        assertThat(Collections.frequency(outcomes, Outcome.PROCESSED)).isEqualTo(500);
        assertThat(Collections.frequency(outcomes, Outcome.DUPLICATE)).isEqualTo(500);
        assertThat(effects()).hasSize(500).doesNotHaveDuplicates();
    }

    @Test
    void aRebalanceBeforeTheOffsetCommit() throws Exception {
        publish(events(10));
        Map<String, Object> impatient = Map.of(
                "group.id", aggregateType,
                "session.timeout.ms", 2000,
                "heartbeat.interval.ms", 200,
                "max.poll.interval.ms", 2000);
        try (KafkaConsumer<String, String> stalled = kafka.consumer(impatient);
                // With all the time that it wants, as the machine may be busy.
                KafkaConsumer<String, String> heir = kafka.consumer(Map.of("group.id", aggregateType))) {
            stalled.subscribe(List.of(partition.topic()));
            consumeAll(stalled, 10);
            // It doesn't poll any more, so it loses the partition to the other one, which begins where nothing is
            // committed.
            heir.subscribe(List.of(partition.topic()));
            consumeAll(heir, 10);
            heir.commitSync();

            assertThatThrownBy(stalled::commitSync).isInstanceOf(CommitFailedException.class);
        }

        assertThat(outcomes.subList(0, 10)).containsOnly(Outcome.PROCESSED);
        assertThat(outcomes.subList(10, 20)).containsOnly(Outcome.DUPLICATE);
        assertThat(effects()).hasSize(10).doesNotHaveDuplicates();
    }

    @Test
    void aReplayFromTheBeginning() throws Exception {
        publish(events(50));
        try (KafkaConsumer<String, String> consumer = kafka.consumer(Map.of("group.id", aggregateType))) {
            consumer.subscribe(List.of(partition.topic()));
            consumeAll(consumer, 50);
            consumer.commitSync();
            consumer.seekToBeginning(consumer.assignment());
            consumeAll(consumer, 50);
        }
        try (KafkaConsumer<String, String> ofAnotherGroup = kafka.consumer(Map.of("group.id", aggregateType + "-2"))) {
            ofAnotherGroup.subscribe(List.of(partition.topic()));
            consumeAll(ofAnotherGroup, 50);
        }

        assertThat(outcomes.subList(0, 50)).containsOnly(Outcome.PROCESSED);
        assertThat(outcomes.subList(50, 150)).containsOnly(Outcome.DUPLICATE);
        assertThat(effects()).hasSize(50).doesNotHaveDuplicates();
    }

    private List<OutboxEvent> events(int count) {
        List<OutboxEvent> events = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            events.add(OutboxEvent.of(aggregateType, "p-" + i, "Paid", "{}"));
        }
        return events;
    }

    private void publish(List<OutboxEvent> events) throws Exception {
        try (KafkaMessagePublisher publisher = KafkaMessagePublisher.connect(kafka.bootstrapServers())) {
            for (OutboxEvent event : events) {
                publisher.publish(event).toCompletableFuture().get(1, TimeUnit.MINUTES);
            }
        }
    }

    private void consumeAll(KafkaConsumer<String, String> consumer, int count) throws SQLException {
        int consumed = 0;
        while (consumed < count) {
            for (ConsumerRecord<String, String> message : consumer.poll(Duration.ofMillis(100))) {
                String id = new String(
                        message.headers()
                                .lastHeader(KafkaMessagePublisher.ID_HEADER)
                                .value(),
                        UTF_8);
                outcomes.add(ledger.consume(DATABASE.pool(), id, connection -> {
                    try (PreparedStatement statement = connection.prepareStatement("INSERT INTO effect VALUES (?)")) {
                        statement.setString(1, id);
                        statement.executeUpdate();
                    }
                }));
                consumed++;
            }
        }
        assertThat(consumed).isEqualTo(count);
    }

    private static List<Object> effects() {
        return DATABASE.list("SELECT message FROM effect");
    }
}
