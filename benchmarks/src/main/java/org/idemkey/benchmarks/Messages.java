// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;
import org.idemkey.messaging.IdempotentConsumer;
import org.idemkey.messaging.KafkaMessagePublisher;
import org.idemkey.messaging.MessagingSchema;
import org.idemkey.messaging.Outbox;
import org.idemkey.messaging.OutboxEvent;
import org.idemkey.messaging.OutboxRelay;
import org.idemkey.messaging.RelayListener;
import org.idemkey.testkafka.TestKafka;

/**
 * What the promise costs where messages carry it: an idempotent consumer beside the bare insert that it protects, and a
 * relay from the outbox to Kafka beside a producer that sends the same payloads from memory. One thread each.
 */
final class Messages {

    private static final String AGGREGATE = "benchmark";
    private static final String PAYLOAD = """
            {"payment":"pay_2c1f0a5e","merchant":"alice","reference":"order-1001","amount":1250,"currency":"EUR"}""";
    private static final int AGGREGATES = 100;
    private static final long PATIENCE_SECONDS = 120;

    private final Database database;
    private final HikariDataSource pool;
    private final TestKafka kafka;

    Messages(Database database, TestKafka kafka) throws SQLException {
        this.database = database;
        this.kafka = kafka;
        pool = database.pool(4);
        MessagingSchema.create(pool);
        database.execute("CREATE TABLE IF NOT EXISTS booking (message varchar(40) NOT NULL, amount bigint NOT NULL)");
    }

    /**
     * What came of one comparison: medians over its pairs.
     *
     * @param name {@code subject/twin}
     * @param ratio messages per second, subject to twin
     */
    record Result(String name, double ratio, double low, double high, double perSecond, double twinPerSecond) {

        private static Result of(String name, double[] subject, double[] twin) {
            double[] ratios = IntStream.range(0, subject.length)
                    .mapToDouble(i -> subject[i] / twin[i])
                    .sorted()
                    .toArray();
            Arrays.sort(subject);
            Arrays.sort(twin);
            return new Result(
                    name,
                    Comparison.median(ratios),
                    ratios[0],
                    ratios[ratios.length - 1],
                    Comparison.median(subject),
                    Comparison.median(twin));
        }
    }

    /** Sends or takes that many messages, and answers how many a second. */
    @FunctionalInterface
    private interface Loop {
        double run(int messages) throws Exception;
    }

    /**
     * Runs both comparisons, in pairs of rounds.
     *
     * @param consumed messages in a round, each of which takes a commit
     * @param relayed events in a round, which share commits
     */
    List<Result> run(int consumed, int relayed, int pairs) throws Exception {
        kafka.createTopic("outbox.event." + AGGREGATE, 4);
        try (Producer<String, String> producer = new KafkaProducer<>(
                Map.of("bootstrap.servers", kafka.bootstrapServers(), "acks", "all", "enable.idempotence", true),
                new StringSerializer(),
                new StringSerializer())) {
            List<Result> results = new ArrayList<>();
            results.add(compare("consumer/plain-insert", this::consume, this::insert, consumed, pairs));
            results.add(compare("relay/plain-producer", this::relay, n -> produce(producer, n), relayed, pairs));
            audit((pairs + 1L) * consumed, (pairs + 1L) * relayed);
            return results;
        }
    }

    private static Result compare(String name, Loop subject, Loop twin, int messages, int pairs) throws Exception {
        subject.run(messages);
        twin.run(messages);
        double[] subjects = new double[pairs];
        double[] twins = new double[pairs];
        for (int i = 0; i < pairs; i++) {
            if (i % 2 == 0) {
                twins[i] = twin.run(messages);
                subjects[i] = subject.run(messages);
            } else {
                subjects[i] = subject.run(messages);
                twins[i] = twin.run(messages);
            }
        }
        return Result.of(name, subjects, twins);
    }

    private double consume(int messages) throws SQLException {
        IdempotentConsumer consumer = new IdempotentConsumer("benchmark");
        long begin = System.nanoTime();
        for (int i = 0; i < messages; i++) {
            String key = UUID.randomUUID().toString();
            IdempotentConsumer.Outcome outcome = consumer.consume(pool, key, connection -> book(connection, key));
            if (outcome != IdempotentConsumer.Outcome.PROCESSED) {
                throw new IllegalStateException("a new message was taken for a duplicate: " + outcome);
            }
        }
        return rate(messages, begin);
    }

    private double insert(int messages) throws SQLException {
        long begin = System.nanoTime();
        for (int i = 0; i < messages; i++) {
            try (Connection connection = pool.getConnection()) {
                book(connection, UUID.randomUUID().toString());
            }
        }
        return rate(messages, begin);
    }

    private static void book(Connection connection, String key) throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO booking VALUES (?, ?)")) {
            insert.setString(1, key);
            insert.setLong(2, 1250);
            insert.executeUpdate();
        }
    }

    /** From a full outbox to acknowledged and marked, all of it. */
    private double relay(int messages) throws Exception {
        try (Connection connection = pool.getConnection()) {
            connection.setAutoCommit(false);
            List<OutboxEvent> events = new ArrayList<>();
            for (int i = 0; i < messages; i++) {
                events.add(OutboxEvent.of(AGGREGATE, "pay_" + i % AGGREGATES, "PaymentSucceeded", PAYLOAD));
            }
            Outbox.append(connection, events);
            connection.commit();
        }
        CountDownLatch published = new CountDownLatch(messages);
        RelayListener listener = (event, message, cause) -> {
            if (event == RelayListener.Event.PUBLISHED) {
                published.countDown();
            }
        };
        try (KafkaMessagePublisher publisher = KafkaMessagePublisher.connect(kafka.bootstrapServers())) {
            long begin = System.nanoTime();
            OutboxRelay relay =
                    OutboxRelay.builder(pool, publisher).listener(listener).start();
            try {
                if (!published.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                    throw new IllegalStateException("the relay has left " + published.getCount() + " events");
                }
                return rate(messages, begin);
            } finally {
                relay.close();
            }
        }
    }

    private static double produce(Producer<String, String> producer, int messages)
            throws InterruptedException, ExecutionException {
        List<Future<?>> sent = new ArrayList<>();
        long begin = System.nanoTime();
        for (int i = 0; i < messages; i++) {
            sent.add(
                    producer.send(new ProducerRecord<>("outbox.event." + AGGREGATE, "pay_" + i % AGGREGATES, PAYLOAD)));
        }
        for (Future<?> each : sent) {
            each.get();
        }
        return rate(messages, begin);
    }

    private static double rate(int messages, long begin) {
        return messages * 1e9 / (System.nanoTime() - begin);
    }

    /** Checks that what was measured has happened. */
    private void audit(long consumed, long relayed) {
        require("messages processed", "SELECT count(*) FROM processed_message", consumed);
        require("bookings", "SELECT count(*) FROM booking", 2 * consumed);
        require("events published", "SELECT count(published_at) FROM outbox", relayed);
    }

    private void require(String what, String sql, long expected) {
        long found = database.number(sql);
        if (found != expected) {
            throw new IllegalStateException(found + " " + what + ", not " + expected);
        }
    }
}
