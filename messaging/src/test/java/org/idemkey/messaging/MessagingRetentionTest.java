// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import org.idemkey.IdempotencyStoreException;
import org.idemkey.messaging.IdempotentConsumer.Outcome;
import org.idemkey.postgres.ExpiryCleaner;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class MessagingRetentionTest {

    private static final Duration WEEK = Duration.ofDays(7);

    @RegisterExtension
    static final TestDatabase DATABASE = new TestDatabase();

    private final ExpiryCleaner.Purge outbox = MessagingRetention.publishedEvents(DATABASE.pool(), WEEK);
    private final ExpiryCleaner.Purge processed = MessagingRetention.processedMessages(DATABASE.pool(), WEEK);

    @BeforeEach
    void clear() {
        DATABASE.clear();
    }

    @Test
    void removesOnlyWhatWasPublishedLongEnoughAgo() {
        Events.commit(DATABASE, Events.numbered("old", 1, 3));
        Events.commit(DATABASE, Events.numbered("fresh", 1, 2));
        Events.commit(DATABASE, Events.numbered("unpublished", 1));
        DATABASE.update("UPDATE outbox SET created_at = now() - interval '8 days'");
        publish("old", "7 days");
        publish("fresh", "6 days 23 hours 59 minutes");

        assertThat(outbox.purgeExpired(100)).isEqualTo(3);
        assertThat(outbox.purgeExpired(100)).isZero();
        assertThat(DATABASE.list("SELECT DISTINCT aggregate_id FROM outbox ORDER BY 1"))
                .containsExactly("fresh", "unpublished");
    }

    @Test
    void removesTheOldestFirstAndNoMoreThanABatch() {
        Events.commit(DATABASE, Events.numbered("a", 1, 5));
        DATABASE.update("UPDATE outbox SET published_at = now() - interval '8 days' - position * interval '1 hour'");

        assertThat(outbox.purgeExpired(2)).isEqualTo(2);
        assertThat(DATABASE.list("SELECT event_type FROM outbox ORDER BY position"))
                .containsExactly("a:1", "a:2", "a:3");
    }

    @Test
    void passesByWhatSomebodyElseHolds() throws Exception {
        Events.commit(DATABASE, Events.numbered("a", 1, 3));
        publish("a", "8 days");
        try (Connection holder = DATABASE.begin();
                Statement statement = holder.createStatement()) {
            statement.execute("SELECT FROM outbox WHERE event_type = 'a:2' FOR UPDATE");

            assertThat(outbox.purgeExpired(100)).isEqualTo(2);
            holder.rollback();
        }

        assertThat(outbox.purgeExpired(100)).isEqualTo(1);
    }

    @Test
    void aProcessedMessageIsKnownUntilItsTimeIsOver() throws Exception {
        IdempotentConsumer ledger = new IdempotentConsumer("ledger");
        for (String key : new String[] {"old", "fresh"}) {
            ledger.consume(DATABASE.pool(), key, connection -> {});
        }
        DATABASE.update("UPDATE processed_message SET processed_at = now() - CASE message_key"
                + " WHEN 'old' THEN interval '7 days' ELSE interval '6 days 23 hours 59 minutes' END");

        assertThat(processed.purgeExpired(100)).isEqualTo(1);
        assertThat(ledger.consume(DATABASE.pool(), "fresh", connection -> {})).isEqualTo(Outcome.DUPLICATE);
        assertThat(ledger.consume(DATABASE.pool(), "old", connection -> {})).isEqualTo(Outcome.PROCESSED);
    }

    @Test
    void oneCleanerCleansBothWhileARelayAndAConsumerWork() throws Exception {
        IdempotentConsumer ledger = new IdempotentConsumer("ledger");
        MessagePublisher inProcess = event -> {
            try {
                ledger.consume(DATABASE.pool(), event.id().toString(), connection -> {
                    try (Statement statement = connection.createStatement()) {
                        statement.executeUpdate("INSERT INTO effect VALUES ('" + event.eventType() + "')");
                    }
                });
                return RecordingPublisher.acknowledge(event);
            } catch (SQLException e) {
                throw new IllegalStateException(e);
            }
        };
        DATABASE.update("INSERT INTO processed_message SELECT 'old', n, now() - interval '8 days'"
                + " FROM generate_series(1, 5000) AS n");
        try (OutboxRelay relay = OutboxRelay.builder(DATABASE.pool(), inProcess)
                        .batchSize(50)
                        .pollInterval(Duration.ofMillis(10))
                        .start();
                ExpiryCleaner cleaner = ExpiryCleaner.builder()
                        .purge("outbox", MessagingRetention.publishedEvents(DATABASE.pool(), Duration.ZERO))
                        .purge("processed_message", processed)
                        .interval(Duration.ofMillis(20))
                        .batchSize(100)
                        .start()) {
            for (int n = 1; n <= 500; n++) {
                Events.commit(DATABASE, Events.numbered("a" + n % 10, n));
                relay.wake();
            }
            await().atMost(Duration.ofMinutes(1))
                    .until(() -> DATABASE.count("SELECT count(*) FROM outbox") == 0
                            && DATABASE.count("SELECT count(*) FROM processed_message") == 500);
            assertThat(cleaner).isNotNull();
        }

        assertThat(DATABASE.list("SELECT message FROM effect")).hasSize(500).doesNotHaveDuplicates();
    }

    @Test
    void aDatabaseThatRefusesIsToldToTheCleaner() {
        ExpiryCleaner.Purge purge = MessagingRetention.publishedEvents(DATABASE.pool(), Duration.ZERO);
        DATABASE.update("ALTER TABLE outbox RENAME TO outbox_away");
        try {
            assertThatExceptionOfType(IdempotencyStoreException.class)
                    .isThrownBy(() -> purge.purgeExpired(1))
                    .withMessage("the outbox could not be cleaned (SQLSTATE 42P01)");
        } finally {
            DATABASE.update("ALTER TABLE outbox_away RENAME TO outbox");
        }
    }

    @Test
    void retentionsOutOfTheirBoundsAreRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MessagingRetention.publishedEvents(DATABASE.pool(), Duration.ofMillis(-1)))
                .withMessageContaining("retention");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MessagingRetention.processedMessages(DATABASE.pool(), Duration.ZERO))
                .withMessageContaining("retention");
    }

    private static void publish(String aggregate, String ago) {
        DATABASE.update(
                "UPDATE outbox SET published_at = now() - CAST(? AS interval) WHERE aggregate_id = ?", ago, aggregate);
    }
}
