// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import javax.sql.DataSource;
import org.idemkey.Fingerprint;
import org.idemkey.Idempotency;
import org.idemkey.IdempotencyGuard;
import org.idemkey.IdempotencyGuard.Outcome;
import org.idemkey.IdempotencyKey;
import org.idemkey.Scope;
import org.idemkey.messaging.IdempotentConsumer.Action;
import org.idemkey.postgres.PostgresSchema;
import org.idemkey.postgres.PostgresTransactionStore;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** In the same-transaction mode an event is one commit with the key, the effect and the answer. */
class ProtectedRequestTest {

    private static final Fingerprint FINGERPRINT = Fingerprint.of("pay");

    @RegisterExtension
    static final TestDatabase DATABASE = new TestDatabase();

    private final PostgresTransactionStore store = PostgresTransactionStore.create(DATABASE.pool());
    private final IdempotencyGuard<String> guard =
            new IdempotencyGuard<>(Idempotency.builder(store).build(), IdempotencyGuard.Codec.text());

    @BeforeAll
    static void createKeyTable() {
        PostgresSchema.create(DATABASE.pool());
    }

    @BeforeEach
    void clear() {
        DATABASE.clear();
    }

    @Test
    void anEventIsThereWithTheAnswerAndOnce() throws Exception {
        IdempotencyKey key = new IdempotencyKey(Scope.ANONYMOUS, "paid");

        Outcome<String> first = guard.run(key, FINGERPRINT, context -> {
            pay(store.dataSource());
            assertThat(DATABASE.unpublished())
                    .as("before the answer is recorded")
                    .isZero();
            return "201";
        });
        Outcome<String> repetition = guard.run(key, FINGERPRINT, context -> {
            pay(store.dataSource());
            return "201";
        });

        assertThat(first).isEqualTo(new Outcome.Executed<>("201"));
        assertThat(repetition).isEqualTo(new Outcome.Repeated<>("201"));
        assertThat(DATABASE.unpublished()).isEqualTo(1);
        assertThat(DATABASE.count("SELECT count(*) FROM effect")).isEqualTo(1);
    }

    @Test
    void aHandlerThatThrowsLeavesNoEvent() {
        IdempotencyKey key = new IdempotencyKey(Scope.ANONYMOUS, "failed");
        IOException failure = new IOException("after the event");

        assertThatThrownBy(() -> guard.run(key, FINGERPRINT, context -> {
                    pay(store.dataSource());
                    throw failure;
                }))
                .isSameAs(failure);

        assertThat(DATABASE.unpublished()).isZero();
    }

    @Test
    void aConsumerJoinsItToo() throws Exception {
        IdempotentConsumer consumer = new IdempotentConsumer("webhook");
        Action<RuntimeException> book = connection -> {
            try (Statement statement = connection.createStatement()) {
                statement.execute("INSERT INTO effect VALUES ('webhook')");
            }
        };

        guard.run(new IdempotencyKey(Scope.ANONYMOUS, "hook"), FINGERPRINT, context -> {
            consumer.consume(store.dataSource(), "m-1", book);
            assertThat(DATABASE.count("SELECT count(*) FROM processed_message"))
                    .as("before the answer is recorded")
                    .isZero();
            return "204";
        });

        assertThat(DATABASE.count("SELECT count(*) FROM processed_message")).isEqualTo(1);
        assertThat(DATABASE.count("SELECT count(*) FROM effect")).isEqualTo(1);
    }

    /** As any code that knows of nothing: takes a connection, and commits. */
    private static void pay(DataSource dataSource) throws SQLException {
        try (Connection connection = dataSource.getConnection()) {
            connection.setAutoCommit(false);
            try (Statement statement = connection.createStatement()) {
                statement.execute("INSERT INTO effect VALUES ('paid')");
            }
            Outbox.append(connection, OutboxEvent.of("payment", "p-1", "Paid", "{}"));
            connection.commit();
        }
    }
}
