// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** One relay, before a broker that the test plays. */
class OutboxRelayTest {

    private static final Duration NEVER = Duration.ofDays(1);

    @RegisterExtension
    static final TestDatabase DATABASE = new TestDatabase();

    private final RecordingPublisher broker = new RecordingPublisher();
    private final List<OutboxRelay> relays = new ArrayList<>();

    @BeforeEach
    void clear() {
        DATABASE.clear();
    }

    @AfterEach
    void close() {
        relays.forEach(OutboxRelay::close);
    }

    private OutboxRelay start(OutboxRelay.Builder builder) {
        OutboxRelay relay = builder.start();
        relays.add(relay);
        return relay;
    }

    private OutboxRelay.Builder relay() {
        return OutboxRelay.builder(DATABASE.pool(), broker)
                .pollInterval(Duration.ofMillis(20))
                .maxBackOff(Duration.ofMillis(100));
    }

    private static void awaitAllPublished() {
        await().until(() -> DATABASE.unpublished() == 0);
    }

    @Test
    void publishesEachEventOnceInItsAggregatesOrderAndMarksIt() {
        List<OutboxEvent> events = new ArrayList<>();
        Map<String, Integer> expected = new ConcurrentHashMap<>();
        for (int n = 1; n <= 30; n++) {
            for (String aggregate : List.of("a", "b", "c")) {
                events.add(Events.numbered(aggregate, n));
                expected.put(aggregate, n);
            }
        }
        Events.commit(DATABASE, events);

        start(relay().batchSize(20));
        awaitAllPublished();

        assertThat(broker.names()).hasSize(90);
        Events.assertInOrderOnceRepetitionsAreDropped(broker.names(), expected);
        assertThat(DATABASE.count(
                        "SELECT count(*) FROM outbox WHERE published_at BETWEEN created_at AND clock_timestamp()"))
                .isEqualTo(90);
    }

    @Test
    void publishesWhatWasAppended() {
        OutboxEvent event = OutboxEvent.of("payment", "p-1", "Paid", "{\"text\": \"\\\"ü𝄞\", \"amount\": 1250}");
        List<OutboxEvent> published = Collections.synchronizedList(new ArrayList<>());
        Events.commit(DATABASE, event);

        start(OutboxRelay.builder(DATABASE.pool(), message -> {
            published.add(message);
            return CompletableFuture.completedFuture(null);
        }));
        awaitAllPublished();

        assertThat(published).containsExactly(event);
    }

    @Test
    void handsAnEventOverOnlyWhenTheOneBeforeItIsAcknowledged() {
        CompletableFuture<Void> first = broker.hold("a:1");
        CompletableFuture<Void> second = broker.hold("a:2");
        Events.commit(DATABASE, Events.numbered("a", 1, 3));
        Events.commit(DATABASE, Events.numbered("b", 1, 3));

        start(relay());
        // The other aggregate doesn't wait.
        await().until(() -> broker.names().contains("b:3"));
        assertThat(broker.names()).containsExactlyInAnyOrder("a:1", "b:1", "b:2", "b:3");
        assertThat(DATABASE.unpublished()).as("marked with the batch").isEqualTo(6);

        first.complete(null);
        await().until(() -> broker.names().contains("a:2"));
        assertThat(broker.names()).doesNotContain("a:3");
        second.complete(null);
        awaitAllPublished();

        assertThat(broker.names()).hasSize(6).endsWith("a:3");
    }

    @Test
    void anEventThatIsNotAcknowledgedKeepsBackWhatFollowsIt() {
        AtomicInteger refusals = new AtomicInteger(3);
        broker.answer(event -> event.eventType().equals("a:2") && refusals.getAndDecrement() > 0
                ? CompletableFuture.failedFuture(new IllegalStateException("refused"))
                : RecordingPublisher.acknowledge(event));
        Events.commit(DATABASE, Events.numbered("a", 1, 3));

        start(relay());
        awaitAllPublished();

        assertThat(broker.names()).containsExactly("a:1", "a:2", "a:2", "a:2", "a:2", "a:3");
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void anEventThatIsNeverAcceptedHoldsUpItsOwnAggregateOnly(boolean throwing) {
        AtomicBoolean healed = new AtomicBoolean();
        broker.answer(event -> {
            if (!event.aggregateId().equals("poison") || healed.get()) {
                return RecordingPublisher.acknowledge(event);
            }
            if (throwing) {
                throw new IllegalStateException("refused");
            }
            return CompletableFuture.failedFuture(new IllegalStateException("refused"));
        });
        // First in the queue, and more of them than a batch of two looks at.
        Events.commit(DATABASE, Events.numbered("poison", 1, 50));
        Events.commit(DATABASE, Events.numbered("a", 1, 20));

        start(relay().batchSize(2));
        await().until(() -> DATABASE.unpublished() == 50);
        Events.commit(DATABASE, Events.numbered("b", 1, 20));
        await().until(() -> DATABASE.unpublished() == 50);
        assertThat(broker.names()).doesNotContain("poison:2");

        healed.set(true);
        awaitAllPublished();
        Events.assertInOrderOnceRepetitionsAreDropped(broker.names(), Map.of("poison", 50, "a", 20, "b", 20));
    }

    @Test
    void asksABrokerThatIsAwayWithOneEventAtATimeAndGoesOnWhenItIsBack() {
        AtomicBoolean away = new AtomicBoolean(true);
        AtomicInteger asked = new AtomicInteger();
        List<Integer> askedPerBatch = Collections.synchronizedList(new ArrayList<>());
        broker.answer(event -> {
            asked.incrementAndGet();
            return away.get()
                    ? CompletableFuture.supplyAsync(() -> {
                        throw new IllegalStateException("nobody there");
                    })
                    : RecordingPublisher.acknowledge(event);
        });
        for (int i = 0; i < 40; i++) {
            Events.commit(DATABASE, Events.numbered("a" + i, 1, 2));
        }

        AtomicInteger failures = new AtomicInteger();
        start(relay().listener((event, message, cause) -> {
            if (event == RelayListener.Event.FAILED && asked.get() > 0) {
                askedPerBatch.add(asked.getAndSet(0));
                failures.incrementAndGet();
            }
        }));
        await().until(() -> failures.get() >= 6);
        assertThat(askedPerBatch.subList(1, 6)).containsOnly(1);

        away.set(false);
        awaitAllPublished();
        assertThat(broker.names()).endsWith("a39:2").contains("a0:2");
    }

    @Test
    void anEventThatIsNotAcknowledgedInTimeIsHandedOverAgain() {
        List<Throwable> causes = Collections.synchronizedList(new ArrayList<>());
        AtomicBoolean silent = new AtomicBoolean(true);
        broker.answer(event ->
                silent.compareAndSet(true, false) ? new CompletableFuture<>() : RecordingPublisher.acknowledge(event));
        Events.commit(DATABASE, Events.numbered("a", 1, 2));

        start(relay().publishTimeout(Duration.ofMillis(50)).listener((event, message, cause) -> {
            if (cause != null) {
                causes.add(cause);
            }
        }));
        awaitAllPublished();

        assertThat(broker.names()).containsExactly("a:1", "a:1", "a:2");
        assertThat(causes).singleElement().isInstanceOf(TimeoutException.class);
    }

    @Test
    void aTransactionThatIsCommittedLateIsNotPassedOver() throws Exception {
        try (Connection late = DATABASE.begin()) {
            Outbox.append(late, Events.numbered("late", 1));
            Events.commit(DATABASE, Events.numbered("a", 1));
            start(relay());
            awaitAllPublished();
            assertThat(broker.names()).containsExactly("a:1");
            late.commit();
        }
        await().until(() -> broker.names().contains("late:1"));
        awaitAllPublished();

        assertThat(DATABASE.list("SELECT aggregate_id FROM outbox ORDER BY position"))
                .as("its position is the lower one")
                .containsExactly("late", "a");
    }

    @Test
    void aWakeUpIsEnough() {
        OutboxRelay relay = start(relay().pollInterval(NEVER));
        for (int n = 1; n <= 20; n++) {
            Events.commit(DATABASE, Events.numbered("a", n));
            relay.wake();
            awaitAllPublished();
        }

        assertThat(broker.names()).hasSize(20);
    }

    @Test
    void aWakeUpDuringABatchIsNotLost() {
        CompletableFuture<Void> first = broker.hold("a:1");
        Events.commit(DATABASE, Events.numbered("a", 1));
        OutboxRelay relay = start(relay().pollInterval(NEVER));
        await().until(() -> broker.names().contains("a:1"));

        Events.commit(DATABASE, Events.numbered("a", 2));
        relay.wake();
        first.complete(null);

        awaitAllPublished();
    }

    @Test
    void aCommitThatNotifiesIsEnoughForARelayThatListens() throws Exception {
        start(relay().pollInterval(NEVER).listenOn(DATABASE.pool()));
        for (int n = 1; n <= 5; n++) {
            commitAndNotify(Events.numbered("a", n));
            awaitAllPublished();
        }
        // It comes back when its connection is cut.
        await().until(() -> DATABASE.count("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                        + " WHERE datname = current_database() AND query LIKE 'LISTEN%'")
                == 1);
        for (int n = 6; n <= 10; n++) {
            commitAndNotify(Events.numbered("a", n));
            awaitAllPublished();
        }

        assertThat(broker.names()).hasSize(10);
    }

    private static void commitAndNotify(OutboxEvent event) throws Exception {
        try (Connection connection = DATABASE.begin()) {
            Outbox.append(connection, event);
            Outbox.wakeRelays(connection);
            connection.commit();
        }
    }

    @Test
    void closingWaitsForWhatIsInFlightMarksItAndHandsNothingMoreOver() throws Exception {
        CompletableFuture<Void> first = broker.hold("a:1");
        Events.commit(DATABASE, Events.numbered("a", 1, 2));
        OutboxRelay relay = start(relay());
        await().until(() -> broker.names().contains("a:1"));

        Thread closing = new Thread(relay::close);
        closing.start();
        await().until(() -> closing.getState() == Thread.State.WAITING);
        first.complete(null);
        closing.join();

        assertThat(broker.names()).containsExactly("a:1");
        assertThat(DATABASE.list("SELECT event_type FROM outbox WHERE published_at IS NULL"))
                .containsExactly("a:2");
    }

    @Test
    void closingAnIdleRelayDoesNotWaitForItsNextPoll() {
        OutboxRelay relay = start(relay().pollInterval(NEVER));
        Events.commit(DATABASE, Events.numbered("a", 1));
        relay.wake();
        awaitAllPublished();

        relay.close();
        relay.close();

        assertThat(Thread.getAllStackTraces().keySet())
                .extracting(Thread::getName)
                .doesNotContain("idemkey-outbox-relay");
    }

    @Test
    void closingARelayThatBacksOffDoesNotWaitForItsEnd() {
        broker.answer(event -> CompletableFuture.failedFuture(new IllegalStateException("nobody there")));
        // From the eleventh of them on a wait is longer than 50 seconds.
        for (int i = 0; i < 3; i++) {
            Events.commit(DATABASE, Events.numbered("a" + i, 1));
        }
        OutboxRelay relay = start(relay().maxBackOff(NEVER).pollInterval(NEVER));
        await().until(() -> broker.names().size() >= 3);

        relay.close();
    }

    @Test
    void anInterruptedCloseWaitsForNothing() throws Exception {
        var unused = broker.hold("a:1");
        Events.commit(DATABASE, Events.numbered("a", 1));
        OutboxRelay relay = start(relay().publishTimeout(NEVER));
        await().until(() -> broker.names().contains("a:1"));
        AtomicBoolean stillInterrupted = new AtomicBoolean();

        Thread closing = new Thread(() -> {
            Thread.currentThread().interrupt();
            relay.close();
            stillInterrupted.set(Thread.currentThread().isInterrupted());
        });
        closing.start();
        closing.join();

        assertThat(stillInterrupted).isTrue();
        await().until(() -> Thread.getAllStackTraces().keySet().stream()
                .noneMatch(thread -> thread.getName().equals("idemkey-outbox-relay")));
        assertThat(DATABASE.unpublished()).isEqualTo(1);
    }

    @Test
    void aRelayThatLosesItsConnectionBeforeTheMarkPublishesAgainInOrder() {
        AtomicBoolean cut = new AtomicBoolean();
        broker.answer(event -> {
            if (event.eventType().equals("a:3") && cut.compareAndSet(false, true)) {
                DATABASE.count("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                        + " WHERE datname = current_database() AND state = 'idle in transaction'");
            }
            return RecordingPublisher.acknowledge(event);
        });
        List<RelayListener.Event> told = Collections.synchronizedList(new ArrayList<>());
        Events.commit(DATABASE, Events.numbered("a", 1, 5));

        start(relay().listener((event, message, cause) -> told.add(event)));
        awaitAllPublished();

        assertThat(broker.names())
                .containsExactly("a:1", "a:2", "a:3", "a:4", "a:5", "a:1", "a:2", "a:3", "a:4", "a:5");
        await().untilAsserted(() -> assertThat(told)
                .containsExactly(
                        RelayListener.Event.DATABASE_FAILED,
                        RelayListener.Event.PUBLISHED,
                        RelayListener.Event.PUBLISHED,
                        RelayListener.Event.PUBLISHED,
                        RelayListener.Event.PUBLISHED,
                        RelayListener.Event.PUBLISHED));
    }

    @Test
    void aTableThatIsMissingForAWhileIsNoEnd() {
        DATABASE.update("ALTER TABLE outbox RENAME TO outbox_away");
        AtomicInteger failures = new AtomicInteger();
        start(relay().listener((event, message, cause) -> failures.incrementAndGet()));
        await().until(() -> failures.get() >= 3);
        DATABASE.update("ALTER TABLE outbox_away RENAME TO outbox");

        Events.commit(DATABASE, Events.numbered("a", 1));
        awaitAllPublished();
    }

    @Test
    void aListenerThatThrowsChangesNothing() {
        Events.commit(DATABASE, Events.numbered("a", 1, 3));

        start(relay().listener((event, message, cause) -> {
            throw new IllegalStateException("of the listener's own");
        }));
        awaitAllPublished();

        assertThat(broker.names()).containsExactly("a:1", "a:2", "a:3");
    }

    @Test
    void settingsOutOfTheirBoundsAreRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> relay().batchSize(0).start())
                .withMessageContaining("batchSize");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> relay().pollInterval(Duration.ZERO).start())
                .withMessageContaining("pollInterval");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> relay().publishTimeout(Duration.ofDays(2)).start())
                .withMessageContaining("publishTimeout");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> relay().maxBackOff(Duration.ofMillis(-1)).start())
                .withMessageContaining("maxBackOff");
    }
}
