// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.scenarios;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.idemkey.jaxrs.scenarios.Client.newKey;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.idemkey.jaxrs.scenarios.Client.Answer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** All scenarios. A runtime's own class adds how it is started. */
public abstract class JaxRsScenarios extends TransactionScenarios {

    /** Line 61. */
    @Test
    void whatIsResumedElsewhereIsRecorded() throws Exception {
        assumeAsynchronous();
        for (String how : List.of("async/suspended/resume", "async/stage/later")) {
            String key = newKey();
            CompletableFuture<Answer> running = client().sendAsync(
                            client().post(how, key, "text/plain", "order".getBytes(StandardCharsets.US_ASCII)));
            eventually(() -> ledger.executions(key) == 1);
            assertThat(client().post(how, key).problem()).isEqualTo("in-progress");
            ledger.open(key);
            Answer first = running.get();
            assertThat(first.text()).isEqualTo("execution 1");
            assertReplay(first, client().post(how, key));
            assertThat(ledger.executions(key)).isEqualTo(1);
        }
    }

    /** Line 61. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "suspended/at-once",
                "suspended/fail",
                "suspended/throw",
                "stage/at-once",
                "stage/fail-at-once",
            })
    void howeverItEndsItIsRecorded(String how) throws Exception {
        boolean refused = differsIn(Difference.NOTHING_ASYNCHRONOUS) && how.startsWith("suspended/");
        String key = newKey();
        Answer first = client().post("async/" + how, key);
        if (refused) {
            // The runtime's own exception is an end like any other.
            assertThat(first.status()).isEqualTo(500);
            awaitEnd(store, key);
            assertThat(client().post("async/" + how, key).isReplay()).isTrue();
        } else {
            assertThat(first.status()).isIn(200, 201, 402);
            assertReplay(first, client().post("async/" + how, key));
        }
        assertThat(ledger.executions(key)).isEqualTo(refused ? 0 : 1);
    }

    /** Line 61. */
    @Test
    void anUnmappedExceptionElsewhereEndsTheClaim() throws Exception {
        assumeAsynchronous();
        String key = newKey();
        assertThat(client().post("async/suspended/fail-unmapped", key).status()).isEqualTo(500);
        awaitEnd(store, key, Difference.UNMAPPED_ELSEWHERE_ANSWERED_FIRST);
        Answer again = client().post("async/suspended/fail-unmapped", key);
        assertThat(again.status()).isEqualTo(500);
        assertThat(again.isReplay()).isTrue();
        assertThat(ledger.executions(key)).isEqualTo(1);
    }

    /** Line 61; whoever timed it out can't say that nothing was done, so nothing runs again. */
    @ParameterizedTest
    @ValueSource(strings = {"timeout", "timeout-handled", "cancel", "unavailable"})
    void aTimeoutAndACancelEndTheClaimWithoutASecondExecution(String how) throws Exception {
        assumeAsynchronous();
        String key = newKey();
        Answer first = client().post("async/suspended/" + how, key);
        assertThat(first.status()).isIn(503, 429);
        assertReplay(first, client().post("async/suspended/" + how, key));
        assertThat(ledger.executions(key)).isEqualTo(1);
    }

    /** A stage ends once, by the handler's own word. */
    @Test
    void aStageThatSaysThatNothingWasDoneFreesTheKey() throws Exception {
        assumeAsynchronous();
        String key = newKey();
        assertThat(client().post("async/stage/unavailable", key).status()).isEqualTo(503);
        assertThat(client().post("async/stage/unavailable", key).isReplay()).isFalse();
        assertThat(ledger.executions(key)).isEqualTo(2);
    }

    /** Line 62. */
    @ParameterizedTest
    @ValueSource(ints = {0, 10, 9_000, 1 << 20})
    void aStreamWithinTheLimitIsKept(int size) throws Exception {
        String key = newKey();
        Answer first = client().post("bench/stream/" + size, key);
        assertThat(first.body()).hasSize(size);
        assertReplay(first, client().post("bench/stream/" + size, key));
        assertThat(ledger.executions(key)).isEqualTo(1);
    }

    /** Line 62. */
    @Test
    void aStreamBeyondTheLimitIsSentOnAndNeverRunAgain() throws Exception {
        String key = newKey();
        int size = (1 << 20) + 1;
        Answer first = client().post("bench/stream/" + size, key);
        assertThat(first.status()).isEqualTo(200);
        assertThat(first.body()).hasSize(size);
        assertThat(client().post("bench/stream/" + size, key).problem()).isEqualTo("response-not-replayable");
        assertThat(ledger.executions(key)).isEqualTo(1);
    }

    /** Line 62: the first event is there before the second one may happen. */
    @Test
    void eventsAreSentAtOnceAndNeverAgain() throws Exception {
        String key = newKey();
        HttpResponse<InputStream> response =
                client().open(client().post("bench/event-text", key, "text/plain", new byte[0]));
        assertThat(response.statusCode()).isEqualTo(200);
        try (InputStream events = response.body()) {
            byte[] firstEvent = events.readNBytes(Bench.LONG_EVENT.length());
            assertThat(new String(firstEvent, StandardCharsets.UTF_8)).isEqualTo(Bench.LONG_EVENT);
            assertThat(client().post("bench/event-text", key, "").problem()).isEqualTo("response-not-replayable");
            ledger.open(key);
            assertThat(new String(events.readAllBytes(), StandardCharsets.UTF_8))
                    .isEqualTo("data: two\n\n");
        }
        assertThat(ledger.executions(key)).isEqualTo(1);
    }

    /** Nothing has left by the time the store is told: otherwise this could not come in its place. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "bench/created",
                "bench/nothing",
                "bench/status/409",
                "bench/zipped",
                "bench/enveloped",
                "bench/marked",
                "bench/stream/10000",
                "bench/stream/1048577",
                "bench/event-text",
                "bench/throw/mapped",
                "async/suspended/at-once",
                "async/stage/fail"
            })
    void anAnswerWhoseClaimWasLostIsNotSent(String how) throws Exception {
        assumeAsynchronousFor(how);
        String key = "lost-" + newKey();
        ledger.open(key);
        Answer first = client().post(how, key);
        assertThat(first.problem()).as(first.toString()).isEqualTo("in-progress");
        assertThat(first.status()).isEqualTo(409);
        assertThat(first.fields("Retry-After")).containsExactly("1");
        assertThat(first.fields("Content-Encoding")).isEmpty();
        assertThat(first.fields("X-Tag")).isEmpty();
        assertThat(first.text()).endsWith("}");
    }

    /** Line 62, by the API that is made for events. */
    @Test
    void eventsOfASinkAreSentAtOnceAndNeverAgain() throws Exception {
        assumeEventSink();
        String key = newKey();
        HttpResponse<InputStream> response = client().open(client().post("events/two", key, "text/plain", new byte[0]));
        assertThat(response.statusCode()).isEqualTo(200);
        try (InputStream events = response.body()) {
            assertThat(readLine(events)).isEqualTo("data: one");
            assertThat(client().post("events/two", key, "").problem()).isEqualTo("response-not-replayable");
            // RESTEasy and Tomcat may lock each other out while one thread sends and the request's own still returns.
            awaitReturns();
            ledger.open(key);
            assertThat(new String(events.readAllBytes(), StandardCharsets.UTF_8))
                    .contains("data: two\n\n");
        }
        assertThat(ledger.executions(key)).isEqualTo(1);
    }

    /** The next line that isn't empty, not a byte more: blank lines between events are the runtime's affair. */
    private static String readLine(InputStream events) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int b = events.read(); b != -1 && (b != '\n' || line.isEmpty()); b = events.read()) {
            if (b != '\n' && b != '\r') {
                line.append((char) b);
            }
        }
        return line.toString();
    }

    private void assumeEventSink() {
        assumeAsynchronous();
        assumeFalse(
                differsIn(Difference.NO_EVENT_SINK),
                "this runtime's module for server-sent events is not in this build");
    }

    /** What is no stream of events is an answer like any other. */
    @Test
    void aRefusalInPlaceOfEventsIsRecorded() throws Exception {
        assumeEventSink();
        String key = newKey();
        Answer first = client().post("events/refused", key);
        assertThat(first.status()).isEqualTo(409);
        assertReplay(first, client().post("events/refused", key));
    }

    /** Wrong use fails at start, with the method named. */
    @Test
    void wrongUseFailsAtStart() {
        assertThatThrownBy(() -> serve(new WrongApplication(engine(store)))).satisfies(thrown -> {
            StringWriter trace = new StringWriter();
            thrown.printStackTrace(new PrintWriter(trace));
            assertThat(trace.toString()).contains("@Idempotent on " + WrongApplication.Wrong.class.getName() + ".get");
        });
    }
}
