// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariConfig;
import java.io.IOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.idemkey.messaging.IdempotentConsumer.Outcome;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class IdempotentConsumerTest {

    @RegisterExtension
    static final TestDatabase DATABASE = new TestDatabase();

    private final IdempotentConsumer ledger = new IdempotentConsumer("ledger");
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
    void aMessageThatComesTwiceHasOneEffect() throws Exception {
        DataSource dataSource = DATABASE.pool();

        assertThat(ledger.consume(dataSource, "m-1", effect("m-1"))).isEqualTo(Outcome.PROCESSED);
        assertThat(ledger.consume(dataSource, "m-1", effect("m-1"))).isEqualTo(Outcome.DUPLICATE);
        assertThat(ledger.consume(dataSource, "m-2", effect("m-2"))).isEqualTo(Outcome.PROCESSED);

        assertThat(effects()).containsExactlyInAnyOrder("m-1", "m-2");
        assertThat(
                        DATABASE.count(
                                "SELECT count(*) FROM processed_message WHERE consumer_name = 'ledger' AND processed_at <= now()"))
                .isEqualTo(2);
    }

    @Test
    void consumersOfOneMessageAreIndependent() throws Exception {
        IdempotentConsumer mail = new IdempotentConsumer("mail");

        assertThat(ledger.consume(DATABASE.pool(), "m-1", effect("ledger"))).isEqualTo(Outcome.PROCESSED);
        assertThat(mail.consume(DATABASE.pool(), "m-1", effect("mail"))).isEqualTo(Outcome.PROCESSED);
        assertThat(mail.consume(DATABASE.pool(), "m-1", effect("mail"))).isEqualTo(Outcome.DUPLICATE);

        assertThat(effects()).containsExactlyInAnyOrder("ledger", "mail");
    }

    @Test
    void anExceptionLeavesNeitherEffectNorMark() throws Exception {
        IOException failure = new IOException("after the effect");

        assertThatThrownBy(() -> ledger.consume(DATABASE.pool(), "m-1", connection -> {
                    effect("m-1").run(connection);
                    throw failure;
                }))
                .isSameAs(failure);

        assertThat(effects()).isEmpty();
        assertThat(ledger.consume(DATABASE.pool(), "m-1", effect("m-1"))).isEqualTo(Outcome.PROCESSED);
        assertThat(effects()).containsExactly("m-1");
    }

    @Test
    void aCallerWhoCommitsInSpiteOfAnExceptionCommitsNeitherEffectNorMark() throws Exception {
        IllegalStateException failure = new IllegalStateException("after the effect");
        try (Connection connection = DATABASE.begin()) {
            effect("before").run(connection);
            assertThatThrownBy(() -> ledger.consume(connection, "m-1", c -> {
                        effect("m-1").run(c);
                        throw failure;
                    }))
                    .isSameAs(failure);
            effect("after").run(connection);
            connection.commit();
        }

        assertThat(effects()).containsExactlyInAnyOrder("before", "after");
        assertThat(ledger.consume(DATABASE.pool(), "m-1", effect("m-1"))).isEqualTo(Outcome.PROCESSED);
    }

    @Test
    void aStatementThatFailsDoesNotSpoilTheCallersTransaction() throws Exception {
        try (Connection connection = DATABASE.begin()) {
            effect("before").run(connection);
            assertThatThrownBy(() -> ledger.consume(connection, "m-1", effect(null)))
                    .isInstanceOf(SQLException.class);
            effect("after").run(connection);
            connection.commit();
        }

        assertThat(effects()).containsExactlyInAnyOrder("before", "after");
    }

    @Test
    void joinsTheCallersTransaction() throws Exception {
        try (Connection connection = DATABASE.begin()) {
            assertThat(ledger.consume(connection, "m-1", effect("m-1"))).isEqualTo(Outcome.PROCESSED);
            assertThat(ledger.consume(connection, "m-1", effect("m-1"))).isEqualTo(Outcome.DUPLICATE);
            connection.rollback();

            assertThat(ledger.consume(connection, "m-1", effect("m-1"))).isEqualTo(Outcome.PROCESSED);
            assertThat(effects()).isEmpty();
            connection.commit();
        }

        assertThat(effects()).containsExactly("m-1");
    }

    @Test
    void ofTwoInstancesAtOnceOneWaitsAndThenSkips() throws Exception {
        try (Connection first = DATABASE.begin()) {
            assertThat(ledger.consume(first, "m-1", effect("m-1"))).isEqualTo(Outcome.PROCESSED);

            Future<Outcome> second = threads.submit(() -> ledger.consume(DATABASE.pool(), "m-1", effect("m-1")));
            await().until(() -> DATABASE.waiting() == 1);
            assertThat(second.isDone()).isFalse();
            first.commit();

            assertThat(second.get(1, TimeUnit.MINUTES)).isEqualTo(Outcome.DUPLICATE);
        }

        assertThat(effects()).containsExactly("m-1");
    }

    @Test
    void theOneThatWaitedProcessesIfTheFirstRollsBack() throws Exception {
        try (Connection first = DATABASE.begin()) {
            assertThat(ledger.consume(first, "m-1", effect("first"))).isEqualTo(Outcome.PROCESSED);

            Future<Outcome> second = threads.submit(() -> ledger.consume(DATABASE.pool(), "m-1", effect("second")));
            await().until(() -> DATABASE.waiting() == 1);
            first.rollback();

            assertThat(second.get(1, TimeUnit.MINUTES)).isEqualTo(Outcome.PROCESSED);
        }

        assertThat(effects()).containsExactly("second");
    }

    @Test
    void of16DeliveriesAtOnceOneIsProcessed() throws Exception {
        for (int round = 0; round < 50; round++) {
            String key = "round-" + round;
            CountDownLatch start = new CountDownLatch(1);
            List<Future<Outcome>> deliveries = new ArrayList<>();
            for (int i = 0; i < 16; i++) {
                deliveries.add(threads.submit(() -> {
                    start.await();
                    return ledger.consume(DATABASE.pool(), key, effect(key));
                }));
            }
            start.countDown();
            List<Outcome> outcomes = new ArrayList<>();
            for (Future<Outcome> delivery : deliveries) {
                outcomes.add(delivery.get(1, TimeUnit.MINUTES));
            }
            assertThat(outcomes).containsOnlyOnce(Outcome.PROCESSED);
        }

        assertThat(effects()).hasSize(50).doesNotHaveDuplicates();
    }

    @Test
    void worksOnAPoolWhoseConnectionsNeverCommitByThemselves() throws Exception {
        HikariConfig config = new HikariConfig();
        config.setAutoCommit(false);
        DataSource pool = DATABASE.pool(config);

        assertThat(ledger.consume(pool, "m-1", effect("m-1"))).isEqualTo(Outcome.PROCESSED);
        assertThat(ledger.consume(pool, "m-1", effect("m-1"))).isEqualTo(Outcome.DUPLICATE);

        assertThat(effects()).containsExactly("m-1");
    }

    @Test
    void aConnectionGoesBackInTheModeInWhichItCame() throws Exception {
        try (Connection connection = DATABASE.connect()) {
            DataSource one = new SingleConnection(connection);

            ledger.consume(one, "m-1", effect("m-1"));
            assertThat(connection.getAutoCommit()).isTrue();

            assertThatThrownBy(() -> ledger.consume(one, "m-2", effect(null))).isInstanceOf(SQLException.class);
            assertThat(connection.getAutoCommit()).isTrue();
            assertThat(effects()).containsExactly("m-1");
        }
    }

    @Test
    void refusesAConnectionInAutoCommitMode() throws Exception {
        try (Connection connection = DATABASE.connect()) {
            assertThatThrownBy(() -> ledger.consume(connection, "m-1", effect("m-1")))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("auto-commit");
        }

        assertThat(effects()).isEmpty();
    }

    @Test
    void namesAndKeysAreBoundedAsTheColumnsAre() throws Exception {
        String longest = "𝄞".repeat(100);
        assertThat(new IdempotentConsumer(longest).consume(DATABASE.pool(), longest + longest, effect("m-1")))
                .isEqualTo(Outcome.PROCESSED);

        assertThatIllegalArgumentException()
                .isThrownBy(() -> new IdempotentConsumer(longest + "x"))
                .withMessageContaining("name must have 1 to 100 characters");
        assertThatIllegalArgumentException().isThrownBy(() -> new IdempotentConsumer(""));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ledger.consume(DATABASE.pool(), longest + longest + "x", effect("m-1")))
                .withMessageContaining("messageKey must have 1 to 200 characters");
    }

    private static IdempotentConsumer.Action<RuntimeException> effect(String message) {
        return connection -> {
            try (PreparedStatement statement = connection.prepareStatement("INSERT INTO effect VALUES (?)")) {
                statement.setString(1, message);
                statement.executeUpdate();
            }
        };
    }

    private static List<Object> effects() {
        return DATABASE.list("SELECT message FROM effect");
    }
}
