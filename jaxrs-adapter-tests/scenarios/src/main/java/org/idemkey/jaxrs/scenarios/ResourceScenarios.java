// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.scenarios;

import static org.assertj.core.api.Assertions.assertThat;
import static org.idemkey.jaxrs.scenarios.Client.newKey;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.idemkey.Terms;
import org.idemkey.jaxrs.scenarios.Client.Answer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What ordinary resource methods do behind the adapter: claims, bodies, answers, exceptions. */
abstract class ResourceScenarios extends RuntimeUnderTest {

    @Test
    void aRepetitionGetsTheFirstAnswer() throws Exception {
        String key = newKey();
        Answer first = client().post("bench/created", key);
        Answer again = client().post("bench/created", key);
        assertThat(first.status()).isEqualTo(201);
        assertThat(first.text()).isEqualTo("{\"order\": \"order\"}");
        assertThat(first.field("Location")).endsWith("/payments/1");
        assertReplay(first, again);
        assertThat(again.fields("X-Tag")).isEqualTo(first.fields("X-Tag")).hasSizeGreaterThan(0);
        assertThat(ledger.executions(key)).isEqualTo(1);
        assertThat(store.completions).containsOnlyOnce(key);
    }

    @Test
    void aMethodThatIsNotAnnotatedRunsAlways() throws Exception {
        String key = newKey();
        assertThat(client().post("bench/plain", key).text()).isEqualTo("execution 1");
        assertThat(client().post("bench/plain", key).text()).isEqualTo("execution 2");
        assertThat(store.terms).doesNotContainKey(key);
    }

    @Test
    void anAnnotatedVerbIsProtectedWhateverItIs() throws Exception {
        String key = newKey();
        var put = client().request("bench/put")
                .header(Bench.KEY, key)
                .PUT(BodyPublishers.ofString("x"))
                .build();
        assertThat(client().send(put).text()).isEqualTo("execution 1");
        assertThat(client().send(put).isReplay()).isTrue();
    }

    @Test
    void aKeyIsDemandedUnlessItIsOptional() throws Exception {
        var bare = client().request("bench/created")
                .POST(BodyPublishers.ofString("x"))
                .build();
        assertThat(client().send(bare).problem()).isEqualTo("key-missing");
        var optional =
                client().request("bench/optional").POST(BodyPublishers.noBody()).build();
        assertThat(client().send(optional).text()).startsWith("execution ").endsWith(", unprotected");
        assertThat(client().post("bench/optional", "\"").problem()).isEqualTo("key-invalid");
    }

    @Test
    void theAnnotationSaysHowLong() throws Exception {
        String key = newKey();
        client().post("bench/optional", key);
        assertThat(store.terms.get(key)).isEqualTo(new Terms(Duration.ofSeconds(90), Duration.ofDays(2)));
        String other = newKey();
        client().post("bench/created", other);
        assertThat(store.terms.get(other)).isEqualTo(new Terms(LEASE, Duration.ofHours(24)));
    }

    @Test
    void aVariantHasItsOwnSettings() throws Exception {
        String key = newKey();
        assertThat(client().send(json("bench/variant", key, "{\"a\":1}")).status())
                .isEqualTo(200);
        assertThat(client().send(json("bench/variant", key, "{ \"a\": 1.0 }")).isReplay())
                .isTrue();
        assertThat(client().send(json("bench/variant", newKey(), " ".repeat(101)))
                        .problem())
                .isEqualTo("body-too-large");
        String longAnswer = newKey();
        assertThat(client().send(json("bench/variant", longAnswer, "{\"abc\": 123}"))
                        .text())
                .isEqualTo("{\"abc\": 123}");
        assertThat(client().send(json("bench/variant", longAnswer, "{\"abc\": 123}"))
                        .problem())
                .isEqualTo("response-not-replayable");
    }

    /** Lines 10 and 11: path, query, body and caller are what a key belongs to. */
    @Test
    void anotherRequestUnderTheKeyIsAMismatchAndAnotherCallerIsNone() throws Exception {
        String key = newKey();
        client().post("bench/created", key);
        assertThat(client().post("bench/created", key, "another order").problem())
                .isEqualTo("key-reused");
        assertThat(client().post("bench/created?q=1", key).problem()).isEqualTo("key-reused");
        assertThat(client().post("bench/bytes", key).problem()).isEqualTo("key-reused");
        assertThat(client().post("bench/created", key, "order", "X-Caller", "ada")
                        .isReplay())
                .isFalse();
        assertThat(client().post("bench/created", key, "order", "X-Caller", "bob")
                        .isReplay())
                .isFalse();
        assertThat(client().post("bench/created", key, "order", "X-Caller", "ada")
                        .isReplay())
                .isTrue();
        assertThat(ledger.executions(key)).isEqualTo(3);
    }

    @Test
    void aRequestInFlightIsTold() throws Exception {
        String key = newKey();
        CompletableFuture<Answer> first =
                client().sendAsync(client().post("bench/event-text", key, "text/plain", new byte[0]));
        eventually(() -> ledger.executions(key) == 1);
        // Its tombstone is recorded by the time its first bytes leave; until then it is in flight.
        assertThat(client().post("bench/event-text", key, "").problem()).isIn("in-progress", "response-not-replayable");
        ledger.open(key);
        first.get();
    }

    /** Line 18, whatever priority the filter has that says so. */
    @Test
    void aFilterThatRefusesBeforeTheClaimLeavesNoRecord() throws Exception {
        String key = newKey();
        assertThat(client().post("bench/created", key, "order", "X-Gate", "closed")
                        .status())
                .isEqualTo(401);
        assertThat(store.terms).doesNotContainKey(key);
        Answer first = client().post("bench/created", key);
        assertThat(first.status()).isEqualTo(201);
        assertThat(client().post("bench/created", key, "order", "X-Gate", "closed")
                        .status())
                .isEqualTo(401);
        assertReplay(first, client().post("bench/created", key));
    }

    @Test
    void aFilterThatRefusesAfterTheClaimIsRecordedOrReleasedByPolicy() throws Exception {
        String kept = newKey();
        Answer first = client().post("bench/created", kept, "order", "X-Late", "409");
        assertThat(first.status()).isEqualTo(409);
        assertReplay(first, client().post("bench/created", kept));
        assertThat(ledger.executions(kept)).isZero();
        String freed = newKey();
        assertThat(client().post("bench/created", freed, "order", "X-Late", "429")
                        .text())
                .isEqualTo("late");
        assertThat(store.releases).containsOnlyOnce(freed);
        assertThat(client().post("bench/created", freed).status()).isEqualTo(201);
    }

    /** Lines 26 and 59. */
    @Test
    void fieldsOfResponseFiltersAreMadeAfreshAndStandOnce() throws Exception {
        String key = newKey();
        Answer first = client().post("bench/zipped", key);
        Answer again = client().post("bench/zipped", key);
        for (Answer answer : List.of(first, again)) {
            assertThat(answer.fields("X-Request-Id")).hasSize(1);
            assertThat(String.join(",", answer.fields("Vary")).split(", *", -1))
                    .containsExactlyInAnyOrder("Origin", "Accept-Encoding");
        }
        assertThat(again.field("X-Request-Id")).isNotEqualTo(first.field("X-Request-Id"));
    }

    /** Line 59. */
    @ParameterizedTest
    @ValueSource(strings = {"zipped", "zipped-on-demand"})
    void theBodyIsEncodedOnce(String how) throws Exception {
        String key = newKey();
        Answer first = client().post("bench/" + how, key, "", "Accept-Encoding", "gzip");
        Answer again = client().post("bench/" + how, key, "", "Accept-Encoding", "gzip");
        assertThat(first.unzipped()).isEqualTo("execution 1");
        assertThat(first.fields("Content-Encoding")).containsExactly("gzip");
        assertReplay(first, again);
        assertThat(again.fields("Content-Encoding")).containsExactly("gzip");
        assertThat(ledger.executions(key)).isEqualTo(1);
    }

    /** Line 22: the first answer is given again, whatever the repetition would accept. */
    @Test
    void aReplaySaysOfItsBytesWhatTheyAre() throws Exception {
        String key = newKey();
        Answer first = client().post("bench/zipped-on-demand", key, "");
        Answer again = client().post("bench/zipped-on-demand", key, "", "Accept-Encoding", "gzip");
        assertThat(first.text()).isEqualTo("execution 1");
        assertReplay(first, again);
        assertThat(again.fields("Content-Encoding")).isEmpty();
    }

    @Test
    void whatFiltersAndInterceptorsMakeOfAnAnswerIsKept() throws Exception {
        String key = newKey();
        Answer first = client().post("bench/enveloped", key);
        assertThat(first.status()).isEqualTo(202);
        assertThat(first.text()).isEqualTo("<execution 1>");
        assertThat(first.field("Content-Type")).startsWith("application/xml");
        assertReplay(first, client().post("bench/enveloped", key));
        String marked = newKey();
        first = client().post("bench/marked", marked);
        assertThat(first.text()).isEqualTo("mark:execution 1");
        Answer again = client().post("bench/marked", marked);
        assertReplay(first, again);
        assertThat(again.fields("X-Mark")).containsExactly("written");
    }

    /** Line 60. */
    @Test
    void anAnswerWithoutEntityIsRecorded() throws Exception {
        String key = newKey();
        Answer first = client().post("bench/nothing", key);
        assertThat(first.status()).isEqualTo(204);
        assertReplay(first, client().post("bench/nothing", key));
        assertThat(ledger.executions(key)).isEqualTo(1);
    }

    /** Lines 23 and 60; what a container makes of a bare status it makes of it again. */
    @ParameterizedTest
    @ValueSource(ints = {200, 201, 204, 205, 303, 304, 400, 404, 409, 418, 422, 500})
    void aBareStatusIsRecorded(int status) throws Exception {
        assumeFalse(
                status == 205 && differsIn(Difference.RESET_CONTENT_WITHOUT_LENGTH),
                "this runtime's server says of a 205 neither how long it is nor that it is over");
        for (String how : List.of("status/", "empty/")) {
            if (how.equals("empty/") && (status == 204 || status == 205 || status == 304)) {
                continue;
            }
            String key = newKey();
            Answer first = client().post("bench/" + how + status, key);
            assertThat(first.status()).isEqualTo(status);
            Answer again = client().post("bench/" + how + status, key);
            assertReplay(first, again);
            assertThat(again.fields("X-Execution")).containsExactly("1");
            assertThat(ledger.executions(key)).isEqualTo(1);
        }
    }

    /** Lines 31 and 32. */
    @ParameterizedTest
    @ValueSource(ints = {401, 403, 408, 425, 429, 503})
    void whatSaysThatNothingWasDoneFreesTheKey(int status) throws Exception {
        for (String how : List.of("status/", "empty/")) {
            String key = newKey();
            assertThat(client().post("bench/" + how + status, key).status()).isEqualTo(status);
            assertThat(client().post("bench/" + how + status, key).isReplay()).isFalse();
            assertThat(ledger.executions(key)).isEqualTo(2);
        }
    }

    /** Line 60. */
    @ParameterizedTest
    @ValueSource(strings = {"mapped", "wae", "wae-bare"})
    void aMappedExceptionIsRecorded(String what) throws Exception {
        String key = newKey();
        Answer first = client().post("bench/throw/" + what, key);
        assertThat(first.status()).isBetween(400, 499);
        assertReplay(first, client().post("bench/throw/" + what, key));
        assertThat(ledger.executions(key)).isEqualTo(1);
    }

    /** Lines 32, 33 and 60. */
    @ParameterizedTest
    @ValueSource(strings = {"unmapped", "error"})
    void anUnmappedExceptionEndsTheClaimAndRunsOnce(String what) throws Exception {
        String key = newKey();
        assertThat(client().post("bench/throw/" + what, key).status()).isEqualTo(500);
        awaitEnd(store, key);
        Answer again = client().post("bench/throw/" + what, key);
        assertThat(again.status()).isEqualTo(500);
        assertThat(again.isReplay()).isTrue();
        assertThat(ledger.executions(key)).isEqualTo(1);
    }

    @Test
    void anEntityThatCannotBeWrittenEndsTheClaim() throws Exception {
        for (String how : List.of("unwritable", "stream-fails")) {
            String key = newKey();
            assertThat(client().post("bench/" + how, key).status()).isEqualTo(500);
            awaitEnd(store, key);
            Answer again = client().post("bench/" + how, key);
            assertThat(again.status()).isEqualTo(500);
            assertThat(again.isReplay()).isTrue();
            assertThat(ledger.executions(key)).isEqualTo(1);
        }
    }

    @Test
    void aResponseFilterThatThrowsEndsTheClaim() throws Exception {
        String key = newKey();
        assertThat(client().post("bench/created", key, "order", "X-Fail-Once", "yes")
                        .status())
                .isEqualTo(500);
        awaitEnd(store, key);
        Answer again = client().post("bench/created", key);
        assertThat(again.status()).isEqualTo(500);
        assertThat(again.isReplay()).isTrue();
        assertThat(ledger.executions(key)).isEqualTo(1);
    }

    /** Line 63. */
    @ParameterizedTest
    @ValueSource(strings = {"bytes", "input", "pipe", "reader"})
    void entityReadersSeeTheWholeBody(String how) throws Exception {
        for (int size : new int[] {0, 1, 64 << 10, (64 << 10) + 1, 300_000}) {
            String key = newKey();
            byte[] body = "x".repeat(size).getBytes(StandardCharsets.US_ASCII);
            Answer first = client().send(client().post("bench/" + how, key, "text/plain", body));
            assertThat(first.status()).as(first.toString()).isEqualTo(200);
            assertThat(first.body()).isEqualTo(body);
            assertReplay(first, client().send(client().post("bench/" + how, key, "text/plain", body)));
            assertThat(ledger.executions(key)).isEqualTo(1);
        }
    }

    /** Line 63. */
    @Test
    void formParametersAreStillThere() throws Exception {
        byte[] form = "a=caf%C3%A9&b=1&b=2%263&c=".getBytes(StandardCharsets.US_ASCII);
        String type = "application/x-www-form-urlencoded";
        String key = newKey();
        Answer first = client().send(client().post("bench/form?q=7", key, type, form));
        assertThat(first.text()).isEqualTo("7 caf\u00e9 [1, 2&3]");
        assertReplay(first, client().send(client().post("bench/form?q=7", key, type, form)));
        assertThat(client().send(client().post(
                                        "bench/form?q=7", key, type, "a=other".getBytes(StandardCharsets.US_ASCII)))
                        .problem())
                .isEqualTo("key-reused");
        String other = newKey();
        first = client().send(client().post("bench/form-map", other, type, form));
        assertThat(first.text()).isEqualTo("caf\u00e9 [1, 2&3]");
        assertReplay(first, client().send(client().post("bench/form-map", other, type, form)));
    }

    @Test
    void subResourcesAreProtectedHoweverTheyAreFound() throws Exception {
        for (String how : List.of("bench/sub", "bench/sub-dynamic")) {
            String key = newKey();
            Answer first = client().post(how, key);
            assertThat(first.text()).isEqualTo("order, execution 1");
            assertReplay(first, client().post(how, key));
            assertThat(ledger.executions(key)).isEqualTo(1);
        }
    }

    @Test
    void theAnnotationIsFoundOnInterfacesSuperclassesAndBehindProxies() throws Exception {
        for (String how : List.of("inherited/contract", "inherited/base")) {
            String key = newKey();
            Answer first = client().post(how, key);
            assertThat(first.text()).isEqualTo("order, execution 1");
            assertReplay(first, client().post(how, key));
            assertThat(ledger.executions(key)).isEqualTo(1);
        }
        var look = client().request("inherited/base")
                .header(Bench.KEY, newKey())
                .GET()
                .build();
        assertThat(client().send(look).text()).isEqualTo("execution 1");
        assertThat(client().send(look).text()).isEqualTo("execution 2");
    }

    @Test
    void aHandlerCanTakeItsContext() throws Exception {
        String key = newKey();
        String[] words = client().post("bench/context", key).text().split(" ", -1);
        assertThat(words[0]).isEqualTo(key);
        assertThat(words[1]).isEqualTo("1");
        assertThat(words[2]).hasSize(36);
        var forged = client().request("bench/context")
                .header("Idemkey-Context", "8e03978e-40d5-43e8-bc93-6894a57f9324")
                .GET()
                .build();
        assertThat(client().send(forged).text()).isEqualTo("none");
    }
}
