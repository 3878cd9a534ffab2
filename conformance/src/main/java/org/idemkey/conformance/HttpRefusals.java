// SPDX-License-Identifier: Apache-2.0
package org.idemkey.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import io.restassured.response.Response;
import org.idemkey.Problem;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is answered without running a handler, and before anything is stored. */
abstract class HttpRefusals extends HttpUnderTest {

    // Lines 5, 6, 8 and 19: the key.

    @Test
    void aMissingKeyIsRefusedWhereItIsRequired() {
        Response response = json("{}").post("/run/payment");

        assertProblem(response, Problem.KEY_MISSING);
        assertThat(response.<String>path("detail")).contains(KEY);
        assertNothingHappened();
    }

    @Test
    void aRequestWithoutKeyRunsUnprotectedWhereItIsOptional() throws Exception {
        restart(settings().required(false));

        assertThat(json("{}").post("/run/payment").statusCode()).isEqualTo(201);
        assertThat(json("{}").post("/run/payment").statusCode()).isEqualTo(201);

        assertThat(handlers.executions()).isEqualTo(2);
        assertThat(store.calls()).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"\"\"", "\"open", "\"a\\x\"", "two words", "a,b", "\"a\" b", "\"caf\u00e9\"", "caf\u00e9"})
    void aMalformedKeyIsRefused(String value) {
        assertProblem(json("{}").header(KEY, value).post("/run/payment"), Problem.KEY_INVALID);
        assertNothingHappened();
    }

    @Test
    void anEmptyKeyIsRefused() {
        assertProblem(json("{}").header(KEY, "").post("/run/payment"), Problem.KEY_INVALID);
        assertNothingHappened();
    }

    @Test
    void anOverlongKeyIsRefused() {
        assertProblem(post("k".repeat(256), "payment", "{}"), Problem.KEY_INVALID);
        assertNothingHappened();
        assertThat(post("k".repeat(255), "payment", "{}").statusCode()).isEqualTo(201);
    }

    @Test
    void twoKeysAreRefused() {
        assertProblem(json("{}").header(KEY, "one", "two").post("/run/payment"), Problem.KEY_INVALID);
        assertProblem(json("{}").header(KEY, "one", "one").post("/run/payment"), Problem.KEY_INVALID);
        assertNothingHappened();
    }

    @Test
    void quotedAndBareAreTheSameKey() {
        Response first = post("\"k-1\"", "payment", "{}");
        assertReplayOf(first, post("k-1", "payment", "{}"));
    }

    @Test
    void strictnessRefusesBareKeys() throws Exception {
        restart(settings().strictKeys(true));

        assertProblem(post("k-1", "payment", "{}"), Problem.KEY_INVALID);
        assertThat(post("\"k-1\"", "payment", "{}").statusCode()).isEqualTo(201);
    }

    /** Line 9. */
    @Test
    void theHeaderThatCarriesTheKeyIsConfigurable() throws Exception {
        restart(settings().keyHeader("X-Request-Key"));

        assertProblem(post("k-1", "payment", "{}"), Problem.KEY_MISSING);
        assertThat(json("{}")
                        .header("X-Request-Key", "k-1")
                        .post("/run/payment")
                        .statusCode())
                .isEqualTo(201);
    }

    // Lines 11, 14, 15, 27 and 30: the same key for another request.

    @Test
    void anotherBodyIsAMismatch() {
        String key = newKey();
        Response first = post(key, "payment", "{\"amount\": 1250}");

        assertMismatch(post(key, "payment", "{\"amount\": 1251}"));
        assertReplayOf(first, post(key, "payment", "{\"amount\": 1250}"));
    }

    @Test
    void anotherPathQueryMethodOrTypeIsAMismatch() {
        String key = newKey();
        Response first = json("{}").header(KEY, key).post("/run/payment?a=1");

        assertMismatch(json("{}").header(KEY, key).post("/run/echo?a=1"));
        assertMismatch(json("{}").header(KEY, key).post("/run/payment?a=2"));
        assertMismatch(json("{}").header(KEY, key).post("/run/payment"));
        assertMismatch(json("{}").header(KEY, key).patch("/run/payment?a=1"));
        assertMismatch(
                request().contentType("text/plain").body("{}").header(KEY, key).post("/run/payment?a=1"));
        assertReplayOf(first, json("{}").header(KEY, key).post("/run/payment?a=1"));
        assertThat(handlers.executions()).isEqualTo(1);
    }

    /** Nothing of what is stored, be it the first request or its answer, is in the refusal. */
    @Test
    void aMismatchTellsNothingOfTheFirstRequest() {
        String key = newKey();
        post(key, "echo", "the first body");

        Response mismatch = post(key, "echo", "another body");

        assertMismatch(mismatch);
        assertThat(mismatch.asString()).doesNotContain("first").doesNotContain(key);
    }

    @Test
    void theStatusesOfRefusalsAreConfigurable() throws Exception {
        restart(settings().mismatchStatus(409).conflictStatus(423));
        String key = newKey();
        post(key, "large", "one"); // small enough to be kept

        assertProblem(post(key, "large", "two"), Problem.MISMATCH, 409);
    }

    static void assertMismatch(Response response) {
        assertProblem(response, Problem.MISMATCH);
    }

    // Line 67: the request body's limit.

    @Test
    void aBodyOverTheLimitIsRefusedWhole() throws Exception {
        restart(settings().maxRequestBytes(1000));

        assertProblem(post(newKey(), "echo", "x".repeat(1001)), Problem.BODY_TOO_LARGE);
        assertNothingHappened();
        assertThat(post(newKey(), "echo", "x".repeat(1000)).asString()).isEqualTo("x".repeat(1000));
    }

    // Line 42: the store is away.

    @Test
    void nothingRunsWhileTheStoreIsAway() {
        String key = newKey();
        store.goAway();

        Response refused = post(key, "payment", "{}");

        assertProblem(refused, Problem.STORE_UNAVAILABLE);
        assertRetryAfter(refused);
        assertThat(handlers.executions()).isZero();
        store.comeBack();
        assertThat(post(key, "payment", "{}").statusCode()).isEqualTo(201);
    }

    @Test
    void failingOpenIsAChoice() throws Exception {
        restart(settings().failOpen(true));
        store.goAway();

        Response response = post(newKey(), "echo", "the whole body");

        assertThat(response.statusCode()).isEqualTo(200);
        assertThat(response.asString()).isEqualTo("the whole body");
    }

    // Line 18: authentication comes first.

    @Test
    void aRefusedCallerLeavesNoRecord() {
        Response refused =
                json("{}").header("X-Caller", "refused").header(KEY, newKey()).post("/run/payment");

        assertThat(refused.statusCode()).isEqualTo(401);
        assertNothingHappened();
    }

    static void assertRetryAfter(Response response) {
        assertThat(response.header("Retry-After")).matches("[1-9][0-9]*");
    }

    private void assertNothingHappened() {
        assertThat(handlers.executions()).isZero();
        assertThat(store.calls()).isZero();
    }
}
