// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariConfig;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Several relays on one outbox: an aggregate is with one of them at a time. */
class SeveralRelaysTest {

    @RegisterExtension
    static final TestDatabase DATABASE = new TestDatabase();

    private final List<OutboxRelay> relays = new ArrayList<>();
    private final ExecutorService threads = Executors.newFixedThreadPool(4);

    @BeforeEach
    void clear() {
        DATABASE.clear();
    }

    @AfterEach
    void close() {
        relays.forEach(OutboxRelay::close);
        threads.shutdownNow();
    }

    private void start(DataSource dataSource, MessagePublisher publisher, int batchSize, RelayListener listener) {
        relays.add(OutboxRelay.builder(dataSource, publisher)
                .batchSize(batchSize)
                .pollInterval(Duration.ofMillis(10))
                .maxBackOff(Duration.ofMillis(100))
                .listener(listener)
                .start());
    }

    @ParameterizedTest
    @ValueSource(strings = {"TRANSACTION_READ_COMMITTED", "TRANSACTION_REPEATABLE_READ", "TRANSACTION_SERIALIZABLE"})
    void publishEachEventOnceAndInOrderWhateverThePoolsIsolationIs(String isolation) {
        HikariConfig config = new HikariConfig();
        config.setTransactionIsolation(isolation);
        config.setAutoCommit(false);
        DataSource pool = DATABASE.pool(config);
        RecordingPublisher broker = new RecordingPublisher();
        broker.answer(event -> CompletableFuture.runAsync(Thread::yield, threads));
        List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
        for (int i = 0; i < 4; i++) {
            start(pool, broker, 20, (event, message, cause) -> {
                if (cause != null) {
                    failures.add(cause);
                }
            });
        }

        Map<String, Integer> expected = new HashMap<>();
        for (int i = 0; i < 200; i++) {
            List<OutboxEvent> events = new ArrayList<>();
            for (int j = 0; j < 10; j++) {
                String aggregate = "a" + ThreadLocalRandom.current().nextInt(40);
                events.add(Events.numbered(aggregate, expected.merge(aggregate, 1, Integer::sum)));
            }
            Events.commit(DATABASE, events);
        }
        await().atMost(Duration.ofMinutes(2)).until(() -> DATABASE.unpublished() == 0);

        assertThat(failures).isEmpty();
        assertThat(broker.names()).hasSize(2000);
        Events.assertInOrderOnceRepetitionsAreDropped(broker.names(), expected);
    }

    @Test
    void oneTakesWhatTheOtherHasNotAndNothingThatFollowsWhatTheOtherHas() {
        RecordingPublisher slow = new RecordingPublisher();
        CompletableFuture<Void> acknowledgement = slow.hold("a:1");
        Events.commit(DATABASE, Events.numbered("a", 1));
        start(DATABASE.pool(), slow, 1, RelayListener.none());
        await().until(() -> slow.names().contains("a:1"));

        Events.commit(DATABASE, Events.numbered("a", 2, 3));
        Events.commit(DATABASE, Events.numbered("b", 1, 3));
        RecordingPublisher fast = new RecordingPublisher();
        start(DATABASE.pool(), fast, 100, RelayListener.none());
        await().until(() -> DATABASE.unpublished() == 3);
        // The fast one has looked at aggregate a by now, and will again and again.
        Events.commit(DATABASE, Events.numbered("c", 1));
        await().until(() -> fast.names().contains("c:1"));

        assertThat(fast.names()).containsExactly("b:1", "b:2", "b:3", "c:1");
        acknowledgement.complete(null);
        await().until(() -> DATABASE.unpublished() == 0);
        assertThat(slow.names().size() + fast.names().size()).as("deliveries").isEqualTo(7);
    }

    @Test
    void oneLooksPastALongQueueThatTheOtherHas() {
        RecordingPublisher slow = new RecordingPublisher();
        CompletableFuture<Void> acknowledgement = slow.hold("hot:1");
        Events.commit(DATABASE, Events.numbered("hot", 1, 300));
        start(DATABASE.pool(), slow, 2, RelayListener.none());
        await().until(() -> slow.names().contains("hot:1"));

        Events.commit(DATABASE, Events.numbered("b", 1, 3));
        RecordingPublisher fast = new RecordingPublisher();
        start(DATABASE.pool(), fast, 2, RelayListener.none());
        await().until(() -> DATABASE.unpublished() == 300);

        assertThat(fast.names()).containsExactly("b:1", "b:2", "b:3");
        acknowledgement.complete(null);
        await().until(() -> DATABASE.unpublished() == 0);
        List<String> all = new ArrayList<>(slow.names());
        all.addAll(fast.names());
        assertThat(all).hasSize(303).doesNotHaveDuplicates();
    }

    @Test
    void oneThatIsNotAbleToPublishLeavesTheWorkToTheOther() {
        RecordingPublisher broken = new RecordingPublisher();
        broken.answer(event -> CompletableFuture.failedFuture(new IllegalStateException("no way to the broker")));
        start(DATABASE.pool(), broken, 100, RelayListener.none());
        RecordingPublisher working = new RecordingPublisher();
        start(DATABASE.pool(), working, 100, RelayListener.none());

        for (int n = 1; n <= 50; n++) {
            Events.commit(DATABASE, Events.numbered("a", n), Events.numbered("b", n));
        }
        await().until(() -> DATABASE.unpublished() == 0);

        Events.assertInOrderOnceRepetitionsAreDropped(working.names(), Map.of("a", 50, "b", 50));
    }
}
