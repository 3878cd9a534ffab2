// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.idemkey.messaging.IdempotentConsumer.Outcome;
import org.idemkey.testkafka.ChildProcess;
import org.idemkey.testkafka.TestKafka;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** From the business transaction to the effect elsewhere, while relays and the broker are killed. */
class RelayFaultsTest {

    private static final String TYPE = "faults";
    private static final String TOPIC = "outbox.event." + TYPE;
    private static final int WRITERS = 2;
    private static final int AGGREGATES_PER_WRITER = 50;
    private static final int EVENTS_PER_TRANSACTION = 20;

    @RegisterExtension
    static final TestDatabase DATABASE = new TestDatabase();

    @TempDir
    private Path logs;

    private final TestKafka kafka = TestKafka.shared();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final List<AutoCloseable> open = new CopyOnWriteArrayList<>();
    private final AtomicInteger children = new AtomicInteger();
    private final AtomicInteger brokerFailures = new AtomicInteger();
    private final AtomicInteger duplicates = new AtomicInteger();
    private final AtomicBoolean done = new AtomicBoolean();

    /** The last number committed of each aggregate. Each writer has aggregates of its own. */
    private final Map<String, Integer> committed = new HashMap<>();

    @AfterEach
    void close() throws Exception {
        done.set(true);
        for (AutoCloseable each : open) {
            each.close();
        }
        threads.shutdown();
        assertThat(threads.awaitTermination(1, TimeUnit.MINUTES)).isTrue();
    }

    @Test
    @Timeout(value = 15, unit = TimeUnit.MINUTES)
    void of20000EventsNoneIsLostAndEachHasOneEffectInItsAggregatesOrder() throws Exception {
        kafka.createTopic(TOPIC, 4);
        DATABASE.update("ALTER TABLE effect ADD turn bigserial");
        List<Future<?>> consumers =
                List.of(threads.submit(this::consumeUntilDone), threads.submit(this::consumeUntilDone));

        for (int round = 0; round < 2; round++) {
            // Alone, so that it surely dies: between an acknowledgement and the mark.
            ChildProcess mortal = startRelayProcess(100);
            write(3_000);
            assertThat(mortal.exitCode()).as(mortal::log).isEqualTo(RelayProcess.HALTED);

            // Two at once, and a third that is killed at whatever it is doing.
            List<OutboxRelay> relays = List.of(startRelay(), startRelay());
            ChildProcess victim = startRelayProcess(Integer.MAX_VALUE);
            await().atMost(Duration.ofMinutes(1)).until(() -> victim.log().contains(RelayProcess.READY));
            write(3_000);
            victim.kill();

            int before = brokerFailures.get();
            kafka.kill();
            write(3_000);
            await().atMost(Duration.ofMinutes(1)).until(() -> brokerFailures.get() > before);
            kafka.start();
            relays.forEach(OutboxRelay::close);
        }
        startRelay();
        startRelay();
        write(2_000);
        await().atMost(Duration.ofMinutes(3)).until(() -> DATABASE.unpublished() == 0);
        await().atMost(Duration.ofMinutes(3))
                .until(() -> DATABASE.count("SELECT count(*) FROM effect") >= 20_000
                        || consumers.stream().anyMatch(Future::isDone));
        done.set(true);
        for (Future<?> consumer : consumers) {
            consumer.get(1, TimeUnit.MINUTES);
        }

        assertThat(committed.values().stream().mapToInt(Integer::intValue).sum())
                .isEqualTo(20_000);
        List<String> effects = DATABASE.list("SELECT message FROM effect ORDER BY turn").stream()
                .map(Object::toString)
                .toList();
        assertThat(effects).hasSize(20_000).doesNotHaveDuplicates();
        Events.assertInOrderOnceRepetitionsAreDropped(effects, committed);

        List<String> deliveries = readTopic();
        Events.assertInOrderOnceRepetitionsAreDropped(deliveries, committed);
        assertThat(deliveries.size() - new HashSet<>(deliveries).size())
                .as("repetitions, without which all this has proved nothing")
                .isGreaterThanOrEqualTo(2);
        assertThat(duplicates.get()).as("absorbed by the consumers").isGreaterThanOrEqualTo(2);
    }

    /** Commits that many events, by all writers at once, while every tenth of their transactions is rolled back. */
    private void write(int count) throws Exception {
        List<Future<Map<String, Integer>>> writers = new ArrayList<>();
        for (int writer = 0; writer < WRITERS; writer++) {
            int number = writer;
            writers.add(threads.submit(() -> write(number, count / WRITERS)));
        }
        for (Future<Map<String, Integer>> writer : writers) {
            committed.putAll(writer.get(1, TimeUnit.MINUTES));
        }
    }

    private Map<String, Integer> write(int writer, int count) throws Exception {
        Map<String, Integer> last = new HashMap<>();
        try (Connection connection = DATABASE.pool().getConnection()) {
            connection.setAutoCommit(false);
            int written = 0;
            for (int transaction = 0; written < count; transaction++) {
                Map<String, Integer> next = new HashMap<>(last);
                List<OutboxEvent> events = new ArrayList<>();
                for (int i = 0; i < EVENTS_PER_TRANSACTION; i++) {
                    String aggregate = "w" + writer + "-" + (transaction * 7 + i) % AGGREGATES_PER_WRITER;
                    int n = next.computeIfAbsent(aggregate, a -> committed.getOrDefault(a, 0)) + 1;
                    next.put(aggregate, n);
                    events.add(OutboxEvent.of(TYPE, aggregate, aggregate + ":" + n, "{\"n\": " + n + "}"));
                }
                Outbox.append(connection, events);
                if (transaction % 10 == 9) {
                    connection.rollback();
                } else {
                    connection.commit();
                    last = next;
                    written += EVENTS_PER_TRANSACTION;
                }
            }
        }
        return last;
    }

    private ChildProcess startRelayProcess(int lives) {
        ChildProcess process = new ChildProcess(
                RelayProcess.class,
                logs.resolve("relay-" + children.incrementAndGet() + ".log"),
                DATABASE.environment(),
                kafka.bootstrapServers(),
                String.valueOf(lives));
        open.add(process::kill);
        return process;
    }

    /** A relay in this process, which notices soon that the broker is away. */
    private OutboxRelay startRelay() {
        KafkaMessagePublisher publisher = KafkaMessagePublisher.builder(Map.of(
                        "bootstrap.servers", kafka.bootstrapServers(),
                        "delivery.timeout.ms", 3000,
                        "request.timeout.ms", 1500,
                        "max.block.ms", 1500))
                .build();
        OutboxRelay relay = OutboxRelay.builder(DATABASE.pool(), publisher)
                .batchSize(200)
                .pollInterval(Duration.ofMillis(20))
                .maxBackOff(Duration.ofMillis(500))
                .listener((event, message, cause) -> {
                    if (event == RelayListener.Event.FAILED) {
                        brokerFailures.incrementAndGet();
                    }
                })
                .start();
        // In this order.
        open.add(relay);
        open.add(publisher);
        return relay;
    }

    /** One of a group: what a poll has brought is one transaction, its offsets are committed after it. */
    private Void consumeUntilDone() throws Exception {
        IdempotentConsumer ledger = new IdempotentConsumer("ledger");
        try (KafkaConsumer<String, String> consumer = kafka.consumer(Map.of("group.id", "ledger"));
                Connection connection = DATABASE.pool().getConnection()) {
            connection.setAutoCommit(false);
            consumer.subscribe(List.of(TOPIC));
            while (!done.get()) {
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(100));
                for (ConsumerRecord<String, String> message : records) {
                    if (consume(ledger, connection, message) == Outcome.DUPLICATE) {
                        duplicates.incrementAndGet();
                    }
                }
                connection.commit();
                try {
                    consumer.commitSync();
                } catch (CommitFailedException | TimeoutException e) {
                    // Somebody else got the partitions meanwhile, and will get these messages again; or the broker is
                    // away for long.
                }
            }
        }
        return null;
    }

    private static Outcome consume(
            IdempotentConsumer ledger, Connection connection, ConsumerRecord<String, String> message) throws Exception {
        return ledger.consume(connection, header(message, KafkaMessagePublisher.ID_HEADER), c -> {
            try (PreparedStatement statement = c.prepareStatement("INSERT INTO effect VALUES (?)")) {
                statement.setString(1, header(message, KafkaMessagePublisher.TYPE_HEADER));
                statement.executeUpdate();
            }
        });
    }

    /** All that the topic holds; one aggregate is in one partition. */
    private List<String> readTopic() {
        List<String> names = new ArrayList<>();
        try (KafkaConsumer<String, String> consumer = kafka.consumer(Map.of())) {
            List<TopicPartition> partitions = consumer.partitionsFor(TOPIC).stream()
                    .map(info -> new TopicPartition(info.topic(), info.partition()))
                    .toList();
            consumer.assign(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            while (!partitions.stream().allMatch(each -> consumer.position(each) >= ends.get(each))) {
                consumer.poll(Duration.ofMillis(100))
                        .forEach(message -> names.add(header(message, KafkaMessagePublisher.TYPE_HEADER)));
            }
        }
        return names;
    }

    private static String header(ConsumerRecord<String, String> message, String name) {
        return new String(message.headers().lastHeader(name).value(), UTF_8);
    }
}
