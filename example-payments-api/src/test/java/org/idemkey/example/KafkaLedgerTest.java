// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import static org.assertj.core.api.Assertions.assertThat;

import io.restassured.response.Response;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.idemkey.testkafka.TestKafka;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What is paid comes into the ledger by way of a real broker, once: two instances, each with a relay and a consumer. */
class KafkaLedgerTest {

    @RegisterExtension
    private static final TestDatabase DATABASE = new TestDatabase();

    private static final List<RunningApi> INSTANCES = new ArrayList<>();

    private static TestKafka kafka;

    private final String reference = Orders.newReference();

    @BeforeAll
    static void start() throws Exception {
        // Before Kafka's clients say anything.
        PaymentsApi.configureLogging();
        kafka = TestKafka.shared();
        startInstance();
        startInstance();
    }

    private static void startInstance() throws StartupException {
        INSTANCES.add(RunningApi.start(DATABASE.address(), "KAFKA_BOOTSTRAP_SERVERS", kafka.bootstrapServers()));
    }

    @AfterAll
    static void stop() {
        INSTANCES.forEach(RunningApi::close);
    }

    private static ConditionFactory await() {
        return Awaitility.await().atMost(Duration.ofMinutes(2));
    }

    /** Pays that often, with a key each and at one instance after the other, each request sent twice. */
    private Set<String> pay(int count) {
        Set<String> payments = new HashSet<>();
        for (int i = 0; i < count; i++) {
            String key = Orders.newKey();
            for (RunningApi api : INSTANCES) {
                Response answer = RepetitionScenarios.pay(api.alice(), key, Orders.of("tok_visa", reference));
                assertThat(answer.getStatusCode()).as(answer.asString()).isEqualTo(201);
                payments.add(answer.path("id"));
            }
        }
        assertThat(payments).hasSize(count);
        return payments;
    }

    private List<String> booked() {
        return INSTANCES
                .get(0)
                .alice()
                .queryParam("reference", reference)
                .get("/ledger")
                .path("payment");
    }

    private static long unpublished() {
        return DATABASE.count("SELECT count(*) FROM outbox WHERE published_at IS NULL");
    }

    /** Until the topic has everything, and the ledger says that it has seen everything in the topic. */
    private static void awaitConsumed() {
        await().until(() -> unpublished() == 0);
        try (KafkaConsumer<String, String> observer = kafka.consumer(Map.of("group.id", "ledger"))) {
            Set<TopicPartition> partitions = partitions(observer);
            observer.assign(partitions);
            await().until(() -> {
                Map<TopicPartition, OffsetAndMetadata> committed = observer.committed(partitions);
                return observer.endOffsets(partitions).entrySet().stream()
                        .allMatch(end -> end.getValue() == 0
                                || (committed.get(end.getKey()) != null
                                        && committed.get(end.getKey()).offset() == end.getValue()));
            });
        }
    }

    private static Set<TopicPartition> partitions(KafkaConsumer<?, ?> consumer) {
        Set<TopicPartition> partitions = new HashSet<>();
        consumer.partitionsFor("outbox.event.payment")
                .forEach(info -> partitions.add(new TopicPartition(info.topic(), info.partition())));
        return partitions;
    }

    /** The keys of all messages that the topic holds for these payments. */
    private List<String> messages(Set<String> payments) {
        List<String> keys = new ArrayList<>();
        try (KafkaConsumer<String, String> reader = kafka.consumer(Map.of())) {
            Set<TopicPartition> partitions = partitions(reader);
            reader.assign(partitions);
            Map<TopicPartition, Long> ends = reader.endOffsets(partitions);
            while (!partitions.stream().allMatch(each -> reader.position(each) >= ends.get(each))) {
                for (ConsumerRecord<String, String> message : reader.poll(Duration.ofMillis(100))) {
                    keys.add(message.key());
                }
            }
        }
        keys.retainAll(payments);
        return keys;
    }

    @Test
    void eachPaymentIsBookedOnceThoughItsTopicHoldsItTwice() {
        Set<String> payments = pay(10);
        awaitConsumed();
        assertThat(messages(payments)).containsAll(payments);
        assertThat(booked()).containsExactlyInAnyOrderElementsOf(payments);

        // As after a relay's death between acknowledgement and mark.
        DATABASE.update("UPDATE outbox SET published_at = NULL");
        awaitConsumed();
        assertThat(messages(payments)).hasSizeGreaterThanOrEqualTo(20);
        assertThat(booked()).containsExactlyInAnyOrderElementsOf(payments);
    }

    @Test
    void whatIsPaidWhileTheBrokerIsAwayIsBookedOnceItIsBack() throws Exception {
        Set<String> payments = pay(1);
        awaitConsumed();
        kafka.kill();
        try {
            payments.addAll(pay(5));
            assertThat(unpublished()).isEqualTo(5);
            // And a stop is none the less an orderly one.
            INSTANCES.remove(1).close();
            assertThat(Thread.getAllStackTraces().keySet())
                    .extracting(Thread::getName)
                    .containsOnlyOnce("ledger-consumer", "idemkey-outbox-relay");
        } finally {
            kafka.start();
        }
        awaitConsumed();
        assertThat(booked()).containsExactlyInAnyOrderElementsOf(payments);
        startInstance();
    }

    @Test
    void aMessageThatCouldNotBeBookedIsReadAgain() {
        pay(1);
        awaitConsumed();
        DATABASE.update("ALTER TABLE ledger_entry ADD CONSTRAINT closed CHECK (amount < 0) NOT VALID");
        Set<String> payments;
        try {
            long tries = tries();
            payments = pay(3);
            await().until(() -> unpublished() == 0);
            await().until(() -> tries() > tries);
            assertThat(messages(payments)).containsAll(payments);
            assertThat(booked()).hasSize(1);
        } finally {
            DATABASE.update("ALTER TABLE ledger_entry DROP CONSTRAINT closed");
        }
        awaitConsumed();

        assertThat(booked()).hasSize(4).containsAll(payments).doesNotHaveDuplicates();
    }

    /** How often the ledger has tried to book something: a sequence goes on whatever becomes of the row. */
    private static long tries() {
        return DATABASE.count("SELECT last_value FROM ledger_entry_id_seq");
    }
}
