// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class OutboxTest {

    private static final String IN_ORDER = "SELECT event_type FROM outbox ORDER BY position";

    @RegisterExtension
    static final TestDatabase DATABASE = new TestDatabase();

    private final ExecutorService threads = Executors.newCachedThreadPool();

    @BeforeEach
    void clear() {
        DATABASE.clear();
    }

    @AfterEach
    void shutDown() {
        threads.shutdownNow();
    }

    @Test
    void anEventIsThereIfAndOnlyIfItsTransactionIsCommitted() throws Exception {
        UUID id = UUID.randomUUID();
        try (Connection connection = DATABASE.begin()) {
            Outbox.append(connection, event("a", "rolled-back"));
            connection.rollback();
            Outbox.append(connection, new OutboxEvent(id, "payment", "p-1", "Paid", "{\"amount\": 1250}"));
            assertThat(DATABASE.list(IN_ORDER)).isEmpty();
            connection.commit();
        }

        assertThat(DATABASE.list("SELECT concat_ws('|', id, aggregate_type, aggregate_id, event_type, payload,"
                        + " published_at IS NULL, created_at <= now()) FROM outbox"))
                .containsExactly(id + "|payment|p-1|Paid|{\"amount\": 1250}|t|t");
    }

    @Test
    void eventsOfOneCallKeepTheirOrder() throws Exception {
        List<OutboxEvent> events = new ArrayList<>();
        List<Object> expected = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            events.add(event("aggregate-" + i % 7, "event-" + i));
            expected.add("event-" + i);
        }
        try (Connection connection = DATABASE.begin()) {
            Outbox.append(connection, events);
            Outbox.append(connection, List.of());
            connection.commit();
        }

        assertThat(DATABASE.list(IN_ORDER)).isEqualTo(expected);
    }

    @Test
    void whoAppendsToAnAggregateWaitsForWhoeverDidSoBefore() throws Exception {
        try (Connection first = DATABASE.begin();
                Connection second = DATABASE.begin();
                Connection third = DATABASE.begin()) {
            Outbox.append(first, event("a", "first"));
            Future<?> appended = threads.submit(() -> {
                Outbox.append(second, event("a", "second"));
                return null;
            });
            await().until(() -> DATABASE.waiting() == 1);

            // Another aggregate, and the same id of another type, are nobody's business.
            Outbox.append(third, event("b", "third"));
            Outbox.append(third, OutboxEvent.of("other", "a", "fourth", "{}"));
            third.commit();
            assertThat(appended.isDone()).isFalse();

            // What the first one appends last still goes before all that the second one appends.
            Outbox.append(first, event("a", "first-again"));
            first.commit();
            appended.get(1, TimeUnit.MINUTES);
            second.commit();
        }

        assertThat(DATABASE.list("SELECT event_type FROM outbox WHERE aggregate_type = 'payment'"
                        + " AND aggregate_id = 'a' ORDER BY position"))
                .containsExactly("first", "first-again", "second");
    }

    @Test
    void aRollbackToASavepointTakesTheEventBackAndFreesTheAggregate() throws Exception {
        try (Connection first = DATABASE.begin();
                Connection second = DATABASE.begin()) {
            Savepoint before = first.setSavepoint();
            Outbox.append(first, event("a", "undone"));
            first.rollback(before);
            Outbox.append(second, event("a", "kept"));
            second.commit();
            first.commit();
        }

        assertThat(DATABASE.list(IN_ORDER)).containsExactly("kept");
    }

    @Test
    void crosswiseListsDoNotDeadlock() throws Exception {
        List<Future<?>> writers = new ArrayList<>();
        for (int writer = 0; writer < 8; writer++) {
            String one = writer % 2 == 0 ? "a" : "b";
            String other = writer % 2 == 0 ? "b" : "a";
            writers.add(threads.submit(() -> {
                try (Connection connection = DATABASE.begin()) {
                    for (int i = 0; i < 100; i++) {
                        Outbox.append(connection, List.of(event(one, "x"), event(other, "x")));
                        connection.commit();
                    }
                }
                return null;
            }));
        }
        for (Future<?> writer : writers) {
            writer.get(1, TimeUnit.MINUTES);
        }

        assertThat(DATABASE.unpublished()).isEqualTo(1600);
    }

    @Test
    void refusesAConnectionInAutoCommitMode() throws Exception {
        try (Connection connection = DATABASE.connect()) {
            assertThatThrownBy(() -> Outbox.append(connection, event("a", "x")))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("auto-commit");
            assertThatThrownBy(() -> Outbox.wakeRelays(connection)).isInstanceOf(IllegalStateException.class);
        }

        assertThat(DATABASE.unpublished()).isZero();
    }

    @Test
    void refusesWhatIsNotJsonAndAnIdThatIsNotNew() throws Exception {
        OutboxEvent event = event("a", "x");
        try (Connection connection = DATABASE.begin()) {
            assertThatThrownBy(() -> Outbox.append(connection, OutboxEvent.of("payment", "a", "x", "{\"amount\":")))
                    .isInstanceOf(SQLException.class)
                    .hasFieldOrPropertyWithValue("SQLState", "22P02");
            connection.rollback();
            Outbox.append(connection, event);
            assertThatThrownBy(() -> Outbox.append(connection, event))
                    .isInstanceOf(SQLException.class)
                    .hasFieldOrPropertyWithValue("SQLState", "23505");
        }
    }

    @Test
    void textsAreKeptWhateverTheyContain() throws Exception {
        String odd = "{\"a\",NULL,'; DROP TABLE outbox;--\\ ü 𝄞\u001f";
        try (Connection connection = DATABASE.begin()) {
            Outbox.append(connection, OutboxEvent.of(odd, odd, odd, "{\"text\": \"\\\"},NULL,{'\"}"));
            connection.commit();
        }

        assertThat(DATABASE.count(
                        "SELECT count(*) FROM outbox WHERE aggregate_type = ? AND aggregate_id = ? AND event_type = ?"
                                + " AND payload ->> 'text' = '\"},NULL,{'''",
                        odd,
                        odd,
                        odd))
                .isEqualTo(1);
    }

    @Test
    void anEventFitsIntoItsColumns() throws Exception {
        String hundred = "𝄞".repeat(100);
        try (Connection connection = DATABASE.begin()) {
            Outbox.append(connection, OutboxEvent.of(hundred, hundred + hundred, hundred, "{}"));
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> OutboxEvent.of(hundred + "x", "a", "x", "{}"))
                .withMessageContaining("aggregateType must have 1 to 100 characters, not 101");
        assertThatIllegalArgumentException().isThrownBy(() -> OutboxEvent.of("t", hundred.repeat(2) + "x", "x", "{}"));
        assertThatIllegalArgumentException().isThrownBy(() -> OutboxEvent.of("t", "a", hundred + "x", "{}"));
        assertThatIllegalArgumentException().isThrownBy(() -> OutboxEvent.of("t", "", "x", "{}"));
    }

    @Test
    void anEventInALogTellsNeitherItsContentNorWhoseItIs() {
        assertThat(OutboxEvent.of("payment", "p-17", "Paid", "{\"card\": \"4242\"}"))
                .asString()
                .contains("Paid")
                .doesNotContain("p-17")
                .doesNotContain("4242");
    }

    private static OutboxEvent event(String aggregate, String type) {
        return OutboxEvent.of("payment", aggregate, type, "{}");
    }
}
