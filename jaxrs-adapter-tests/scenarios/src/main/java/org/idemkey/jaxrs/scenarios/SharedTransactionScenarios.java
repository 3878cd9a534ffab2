// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.scenarios;

import static org.assertj.core.api.Assertions.assertThat;
import static org.idemkey.jaxrs.scenarios.Client.newKey;

import jakarta.ws.rs.core.Application;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.concurrent.CompletableFuture;
import org.idemkey.Idempotency;
import org.idemkey.jaxrs.scenarios.Client.Answer;
import org.idemkey.postgres.PostgresTransactionStore;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Effect, key and answer are one commit in a real PostgreSQL, on the resource's own thread and on another one. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class SharedTransactionScenarios {

    private final Ledger ledger = new Ledger();
    private final SharedDatabase database = new SharedDatabase();
    private @Nullable RestServer server;
    private @Nullable Client client;

    /**
     * Starts the runtime with an application.
     *
     * @throws Exception if it doesn't start
     */
    protected abstract RestServer start(Application application) throws Exception;

    @BeforeAll
    final void startOnADatabase() throws Exception {
        database.create();
        PostgresTransactionStore store = PostgresTransactionStore.create(database.pool());
        RestServer started =
                start(new SharedApplication(Idempotency.builder(store).build(), store.dataSource(), ledger));
        server = started;
        client = new Client(started.base());
    }

    @AfterAll
    final void stop() throws SQLException {
        if (server != null) {
            server.close();
        }
        database.drop();
    }

    private Answer post(String how, String key) throws Exception {
        return client().post("shared/" + how, key);
    }

    private Client client() {
        if (client == null) {
            throw new IllegalStateException("not started");
        }
        return client;
    }

    private long effects(String key) {
        return database.count("SELECT count(*) FROM effect WHERE key = ?", key);
    }

    private long keys(String key) {
        return database.count("SELECT count(*) FROM idempotency_key WHERE key = ?", key);
    }

    /** Both take their time from the transaction that they are written in, to the microsecond. */
    @ParameterizedTest
    @ValueSource(strings = {"created", "stage", "suspended/created"})
    void effectKeyAndAnswerAreOneCommit(String how) throws Exception {
        String key = newKey();
        Answer first = post(how, key);
        assertThat(first.status()).as(first.toString()).isEqualTo(201);
        assertThat(database.count("""
                SELECT count(*) FROM effect e JOIN idempotency_key k USING (key)
                WHERE key = ? AND e.at = k.created_at AND k.response_code = 201""", key)).isEqualTo(1);
        Answer again = post(how, key);
        assertThat(again.isReplay()).isTrue();
        assertThat(again.text()).isEqualTo(first.text());
        assertThat(effects(key)).isEqualTo(1);
    }

    @Test
    void nothingIsSeenUntilTheAnswerIs() throws Exception {
        String key = newKey();
        CompletableFuture<Answer> running = client().sendAsync(
                        client().post("shared/gated", key, "text/plain", "order".getBytes(StandardCharsets.US_ASCII)));
        RuntimeUnderTest.eventually(() -> ledger.executions(key) == 1);
        assertThat(effects(key)).isZero();
        assertThat(keys(key)).isZero();
        assertThat(post("gated", key).problem()).isEqualTo("in-progress");
        ledger.open(key);
        assertThat(running.get().status()).isEqualTo(201);
        assertThat(effects(key)).isEqualTo(1);
        assertThat(keys(key)).isEqualTo(1);
    }

    /** Line 32: an exception or a 5xx leaves nothing, so that the next try runs, and may succeed. */
    @ParameterizedTest
    @ValueSource(strings = {"throw-once", "fail-once", "suspended/throw-once"})
    void aFailureLeavesNothingAndTheNextTryRuns(String how) throws Exception {
        String key = newKey();
        assertThat(post(how, key).status()).isBetween(500, 599);
        // A runtime may answer an exception before its response filters run.
        RuntimeUnderTest.eventually(() -> database.idle());
        assertThat(effects(key)).isZero();
        assertThat(keys(key)).isZero();
        Answer next = post(how, key);
        assertThat(next.status()).as(next.toString()).isEqualTo(201);
        assertThat(next.isReplay()).isFalse();
        assertThat(effects(key)).isEqualTo(1);
    }

    /** An answer below 500 is kept, and what its handler took back by itself is not. */
    @Test
    void aRefusalIsKeptWithoutTheEffectThatWasTakenBack() throws Exception {
        String key = newKey();
        assertThat(post("declined", key).status()).isEqualTo(402);
        assertThat(post("declined", key).isReplay()).isTrue();
        assertThat(effects(key)).isZero();
        assertThat(ledger.executions(key)).isEqualTo(1);
    }

    /** Line 40: the commit fails after the handler has said 201, and so the client doesn't hear of it. */
    @Test
    void anAnswerThatCannotBeCommittedIsNotSent() throws Exception {
        String key = newKey();
        Answer first = post("uncommittable", key);
        assertThat(first.status()).as(first.toString()).isBetween(500, 599);
        assertThat(first.text()).doesNotContain("execution");
        assertThat(effects(key)).isZero();
        assertThat(keys(key)).isZero();
    }
}
