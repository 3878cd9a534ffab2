// SPDX-License-Identifier: Apache-2.0
package org.idemkey.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import io.restassured.response.Response;
import java.io.ByteArrayInputStream;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.idemkey.Problem;
import org.idemkey.ResponsePolicy;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What every adapter does over HTTP, whatever technology its handlers are written with. Inherit it, start the server
 * that {@link HttpTarget} describes, and each rule has its tests.
 */
public abstract class HttpContract extends HttpRaces {

    /** For the subclass. */
    protected HttpContract() {}

    // Lines 16 and 20 to 24: the first answer, and the same again.

    @Test
    void theFirstRequestRunsAndIsAnsweredByItsHandler() {
        Response first = post(newKey(), "payment", "{}");

        assertThat(first.statusCode()).isEqualTo(201);
        assertThat(first.asString()).isEqualTo("{\"id\": 1}");
        assertThat(first.header("Location")).endsWith("/payments/1");
        assertThat(first.headers().hasHeaderWithName(REPLAYED)).isFalse();
    }

    @Test
    void aRepetitionGetsTheFirstAnswerAndRunsNothing() {
        String key = newKey();
        Response first = post(key, "payment", "{}");

        assertReplayOf(first, post(key, "payment", "{}"));
        assertReplayOf(first, post(key, "payment", "{}"));
        assertThat(handlers.executions()).isEqualTo(1);
    }

    @Test
    void patchIsProtectedToo() {
        String key = newKey();
        Response first = json("{}").header(KEY, key).patch("/run/payment");

        assertReplayOf(first, json("{}").header(KEY, key).patch("/run/payment"));
    }

    /** Line 17. */
    @Test
    void aKeyOnAGetHasNoEffect() {
        String key = newKey();
        assertThat(request().header(KEY, key).get("/run/payment").statusCode()).isEqualTo(201);
        assertThat(request().header(KEY, key).get("/run/payment").statusCode()).isEqualTo(201);

        assertThat(handlers.executions()).isEqualTo(2);
        assertThat(store.calls()).isZero();
    }

    @Test
    void protectedMethodsAreConfigurable() throws Exception {
        restart(settings().methods("PUT"));
        String key = newKey();
        Response first = json("{}").header(KEY, key).put("/run/payment");

        assertReplayOf(first, json("{}").header(KEY, key).put("/run/payment"));
        assertThat(post(key, "payment", "{}").headers().hasHeaderWithName(REPLAYED))
                .isFalse();
    }

    /** Line 22: what the request says about representations and states is not looked at again. */
    @Test
    void aReplayAsksForNoConditionAgain() {
        String key = newKey();
        Response first = post(key, "payment", "{}");

        Response again = json("{}")
                .header(KEY, key)
                .header("If-Match", "\"stale\"")
                .header("Accept", "image/png")
                .post("/run/payment");

        assertReplayOf(first, again);
    }

    @ParameterizedTest
    @ValueSource(strings = {"empty", "no-content", "binary", "status-302", "status-404", "status-402"})
    void everyKindOfBodyAndStatusIsReplayed(String handler) {
        String key = newKey();
        Response first = post(key, handler, "{}");

        assertReplayOf(first, post(key, handler, "{}"));
        assertThat(handlers.executions()).isEqualTo(1);
    }

    @Test
    void aBinaryBodyIsSentByteByByte() {
        assertThat(post(newKey(), "binary", "{}").asByteArray()).isEqualTo(HttpHandlers.everyByte());
    }

    /** Line 25: no length where there can't be a body. */
    @Test
    void anAnswerWithoutContentHasNoLength() {
        String key = newKey();
        for (int i = 0; i < 2; i++) {
            Response response = post(key, "no-content", "{}");
            assertThat(response.headers().hasHeaderWithName("Content-Length")).isFalse();
            assertThat(response.headers().hasHeaderWithName("Transfer-Encoding"))
                    .isFalse();
        }
    }

    /** Line 24. */
    @Test
    void repeatedHeadersStayInOrderAndApart() {
        String key = newKey();
        Response first = post(key, "headers", "{}");
        Response again = post(key, "headers", "{}");

        assertReplayOf(first, again);
        for (Response response : List.of(first, again)) {
            assertThat(response.headers().getValues("X-Tag")).containsExactly("one", "two, three", "one");
            assertThat(response.header("X-Latin")).isEqualTo(first.header("X-Latin"));
        }
    }

    /** Line 25. */
    @Test
    void whatBelongsToOneConnectionOrOneMomentIsNotReplayed() {
        String key = newKey();
        post(key, "momentary", "{}");

        Response again = post(key, "momentary", "{}");

        assertThat(again.header(REPLAYED)).isEqualTo("true");
        for (String name : List.of("Age", "X-Hop", "Transfer-Encoding")) {
            assertThat(again.headers().hasHeaderWithName(name)).as(name).isFalse();
        }
        // A server may have some of its own.
        assertThat(again.header("Server")).isNotEqualTo("handler");
        assertThat(again.header("Keep-Alive")).isNotEqualTo("timeout=7777");
        assertThat(again.headers().getValues("Content-Length")).containsExactly("3");
    }

    /** Line 25: a cookie may be a session. */
    @Test
    void cookiesAreReplayedByChoiceOnly() throws Exception {
        String key = newKey();
        assertThat(post(key, "cookie", "{}").header("Set-Cookie")).contains("secret");
        assertThat(post(key, "cookie", "{}").headers().hasHeaderWithName("Set-Cookie"))
                .isFalse();

        restart(settings().keepCookies(true));
        key = newKey();
        Response first = post(key, "cookie", "{}");
        assertThat(post(key, "cookie", "{}").headers().getValues("Set-Cookie"))
                .isEqualTo(first.headers().getValues("Set-Cookie"))
                .hasSize(1);
    }

    /** Line 26. */
    @Test
    void headersOfOuterLayersAreMadeAfreshAndStandOnce() {
        String key = newKey();
        Response first = post(key, "headers", "{}");
        Response again = post(key, "headers", "{}");

        assertThat(again.header(REPLAYED)).isEqualTo("true");
        assertThat(first.headers().getValues("X-Outer")).hasSize(1);
        assertThat(again.headers().getValues("X-Outer"))
                .hasSize(1)
                .isNotEqualTo(first.headers().getValues("X-Outer"));
        assertThat(first.headers().getValues("Vary")).containsExactly("Origin", "Accept");
        assertThat(again.headers().getValues("Vary")).containsExactly("Origin", "Accept");
    }

    // Lines 10 and 68: scopes.

    @Test
    void twoCallersWithOneKeyNeverMeet() {
        String key = newKey();
        String alices = as("alice", key).asString();
        String bobs = as("bob", key).asString();
        String anonymous = post(key, "payment", "{}").asString();

        assertThat(List.of(alices, bobs, anonymous)).doesNotHaveDuplicates();
        assertThat(as("alice", key).asString()).isEqualTo(alices);
        assertThat(as("bob", key).asString()).isEqualTo(bobs);
        assertThat(handlers.executions()).isEqualTo(3);
    }

    private Response as(String caller, String key) {
        return json("{}").header("X-Caller", caller).header(KEY, key).post("/run/payment");
    }

    // Lines 31 to 33: what is kept.

    @ParameterizedTest
    @ValueSource(ints = {400, 402, 404, 409, 410, 412, 422, 500, 502, 504})
    void aFinalStatusIsKept(int status) {
        String key = newKey();
        Response first = post(key, "status-" + status, "{}");

        assertReplayOf(first, post(key, "status-" + status, "{}"));
    }

    @ParameterizedTest
    @ValueSource(ints = {401, 403, 408, 425, 429, 503})
    void aStatusThatSaysNotExecutedFreesTheKey(int status) {
        String key = newKey();
        assertThat(post(key, "status-" + status, "{}").statusCode()).isEqualTo(status);
        assertThat(post(key, "status-" + status, "{}").asString()).isEqualTo("execution 2");
        // For another request too, as if nothing had been.
        assertThat(post(key, "status-200", "{}").asString()).isEqualTo("execution 3");
    }

    @Test
    void anExceptionIsKeptAsA500SinceNobodyKnowsWhatItLeft() {
        String key = newKey();
        assertThat(post(key, "throw", "{}").statusCode()).isEqualTo(500);
        awaitEndOfClaim();

        Response again = post(key, "throw", "{}");

        assertThat(again.statusCode()).isEqualTo(500);
        assertThat(again.header(REPLAYED)).isEqualTo("true");
        assertThat(handlers.executions()).isEqualTo(1);
    }

    @Test
    void anExceptionFreesTheKeyWhereFailuresAreUndone() throws Exception {
        restart(settings().responsePolicy(ResponsePolicy.failuresUndone()));
        String key = newKey();
        assertThat(post(key, "throw", "{}").statusCode()).isEqualTo(500);
        awaitEndOfClaim();
        assertThat(post(key, "throw", "{}").headers().hasHeaderWithName(REPLAYED))
                .isFalse();
        assertThat(handlers.executions()).isEqualTo(2);
    }

    /** An answer that can't be recorded is given all the same: its effect stands. */
    @Test
    void theAnswerIsGivenEvenIfItCannotBeRecorded() throws Exception {
        String key = newKey();
        CompletableFuture<Response> first = CompletableFuture.supplyAsync(() -> post(key, "slow", "{}"));
        assertThat(handlers.awaitSlow()).isTrue();
        store.goAway();
        handlers.endSlow();
        assertThat(first.get().statusCode()).isEqualTo(201);

        store.comeBack();
        assertProblem(post(key, "slow", "{}"), Problem.IN_PROGRESS);
        assertThat(handlers.executions()).isEqualTo(1);
    }

    // Line 56: the response body's limit.

    @Test
    void anAnswerOverTheLimitIsGivenOnceAndNeverExecutedAgain() throws Exception {
        restart(settings().maxResponseBytes(99_999));
        String key = newKey();
        Response first = post(key, "large", "{}");
        assertThat(first.statusCode()).isEqualTo(200);
        assertThat(first.asByteArray()).isEqualTo(new byte[100_000]);

        assertProblem(post(key, "large", "{}"), Problem.RESPONSE_NOT_REPLAYABLE);
        assertThat(handlers.executions()).isEqualTo(1);
    }

    @Test
    void anAnswerAtTheLimitIsReplayed() throws Exception {
        restart(settings().maxResponseBytes(100_000));
        String key = newKey();
        assertReplayOf(post(key, "large", "{}"), post(key, "large", "{}"));
    }

    // Lines 44, 55 and 63: the request's body.

    @Test
    void theHandlerReadsTheWholeBody() {
        for (int size : new int[] {0, 1, 10_000, 70_000, 1 << 20}) {
            byte[] body = new byte[size];
            new Random(size).nextBytes(body);
            String key = newKey();

            Response first = bytes(key, body);

            assertThat(first.asByteArray()).isEqualTo(body);
            assertReplayOf(first, bytes(key, body));
        }
    }

    private Response bytes(String key, byte[] body) {
        return request()
                .contentType("application/octet-stream")
                .header(KEY, key)
                .body(body)
                .post("/run/echo");
    }

    @Test
    void aBodyInChunksIsTheSameAsOneInAPiece() {
        String key = newKey();
        Response first = bytes(key, HttpHandlers.everyByte());

        Response again = request()
                .contentType("application/octet-stream")
                .header(KEY, key)
                .body(new ByteArrayInputStream(HttpHandlers.everyByte()))
                .post("/run/echo");

        assertReplayOf(first, again);
    }

    @Test
    void parametersOfQueryAndFormAreStillThere() {
        String key = newKey();
        Response first = form(key, "a=1&b=x+y%26z&a=%C3%A9");

        assertThat(first.asString()).isEqualTo("{a=[0, 1, \u00e9], b=[x y&z]}");
        assertReplayOf(first, form(key, "a=1&b=x+y%26z&a=%C3%A9"));
        assertMismatch(form(key, "a=1&b=x+y%26z&a=%C3%A8"));
    }

    private Response form(String key, String body) {
        return request()
                .contentType("application/x-www-form-urlencoded;charset=UTF-8")
                .header(KEY, key)
                .body(body)
                .post("/run/parameters?a=0");
    }

    // The handler's own knowledge.

    @Test
    void theHandlerKnowsItsKeyAndOnesForThirdParties() {
        String key = newKey();

        String told = post(key, "context", "{}").asString();

        assertThat(told).startsWith(key + " attempt 1 charge ");
        assertThat(request().get("/run/context").asString()).isEqualTo("unprotected");
    }

    /** Line 20 of the cases: to watch before enforcing. */
    @Test
    void theShadowModeLetsEverythingRun() throws Exception {
        restart(settings().shadow(true));
        String key = newKey();

        assertThat(json("{}").post("/run/payment").statusCode()).isEqualTo(201);
        assertThat(post(key, "echo", "one").asString()).isEqualTo("one");
        assertThat(post(key, "echo", "one").asString()).isEqualTo("one");
        assertThat(post(key, "echo", "two").asString()).isEqualTo("two");
        assertThat(handlers.executions()).isEqualTo(4);
    }
}
