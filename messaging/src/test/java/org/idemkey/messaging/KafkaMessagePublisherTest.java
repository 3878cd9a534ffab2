// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.idemkey.testkafka.TestKafka;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class KafkaMessagePublisherTest {

    private final TestKafka kafka = TestKafka.shared();

    @Test
    void aMessageCarriesKeyIdTypeAndPayload() throws Exception {
        OutboxEvent event = OutboxEvent.of("publisher", "p-ü-𝄞", "Paid", "{\"text\": \"ü𝄞\"}");
        try (KafkaMessagePublisher publisher = KafkaMessagePublisher.connect(kafka.bootstrapServers())) {
            publisher.publish(event).toCompletableFuture().get(1, TimeUnit.MINUTES);
        }

        ConsumerRecord<String, String> message = first("outbox.event.publisher");
        assertThat(message.key()).isEqualTo("p-ü-𝄞");
        assertThat(message.value()).isEqualTo("{\"text\": \"ü𝄞\"}");
        assertThat(message.headers().toArray())
                .extracting(header -> header.key() + "=" + new String(header.value(), UTF_8))
                .containsExactly("id=" + event.id(), "eventType=Paid");
    }

    @Test
    void theTopicIsTheCallersChoice() throws Exception {
        try (KafkaMessagePublisher publisher = KafkaMessagePublisher.builder(
                        Map.of("bootstrap.servers", kafka.bootstrapServers()))
                .topic(event -> "all-events")
                .closeTimeout(Duration.ofSeconds(30))
                .build()) {
            publisher
                    .publish(OutboxEvent.of("x", "p-1", "Paid", "{}"))
                    .toCompletableFuture()
                    .get(1, TimeUnit.MINUTES);
        }

        assertThat(first("all-events").key()).isEqualTo("p-1");
    }

    @Test
    void whatTheBrokerDoesNotTakeIsNotAcknowledged() {
        try (KafkaMessagePublisher publisher = KafkaMessagePublisher.connect(kafka.bootstrapServers())) {
            OutboxEvent huge = OutboxEvent.of("publisher-huge", "p-1", "Paid", "\"" + "x".repeat(2_000_000) + "\"");

            assertThatThrownBy(
                            () -> publisher.publish(huge).toCompletableFuture().get(1, TimeUnit.MINUTES))
                    .hasCauseInstanceOf(RecordTooLargeException.class);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "acks, 1",
        "enable.idempotence, false",
        "transactional.id, relay-1",
        "key.serializer, org.apache.kafka.common.serialization.StringSerializer",
        "value.serializer, org.apache.kafka.common.serialization.StringSerializer"
    })
    void refusesSettingsThatWouldWeakenTheRelay(String setting, String value) {
        KafkaMessagePublisher.Builder builder =
                KafkaMessagePublisher.builder(Map.of("bootstrap.servers", kafka.bootstrapServers(), setting, value));

        assertThatIllegalArgumentException().isThrownBy(builder::build).withMessageContaining(setting);
    }

    @Test
    void takesSettingsThatSayTheSameInOtherWords() {
        KafkaMessagePublisher.builder(Map.of(
                        "bootstrap.servers",
                        kafka.bootstrapServers(),
                        "acks",
                        "-1",
                        "enable.idempotence",
                        true,
                        "linger.ms",
                        5))
                .build()
                .close();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> KafkaMessagePublisher.builder(Map.of())
                        .closeTimeout(Duration.ofMillis(-1))
                        .build())
                .withMessageContaining("closeTimeout");
    }

    private ConsumerRecord<String, String> first(String topic) {
        try (KafkaConsumer<String, String> consumer = kafka.consumer(Map.of("group.id", topic))) {
            consumer.subscribe(List.of(topic));
            while (true) {
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofSeconds(1));
                if (!records.isEmpty()) {
                    return records.iterator().next();
                }
            }
        }
    }
}
