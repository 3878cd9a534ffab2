// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import static org.assertj.core.api.Assertions.assertThat;

import io.restassured.http.Header;
import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What clients meet that repeat themselves, the same in each mode; a subclass adds the mode. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class RepetitionScenarios {

    private static final String PROBLEMS = "https://idemkey.org/problems/";

    @RegisterExtension
    final TestDatabase database = new TestDatabase();

    final SlowGateway gateway = new SlowGateway();

    private final String[] settings;

    RunningApi api;

    RepetitionScenarios(String... settings) {
        this.settings = settings;
    }

    @BeforeAll
    void start() throws StartupException {
        api = RunningApi.start(database.address(), gateway, settings);
    }

    @AfterAll
    void stop() {
        api.close();
    }

    static Response pay(RequestSpecification merchant, String key, String body) {
        return pay(merchant, "/payments", key, body);
    }

    private static Response pay(RequestSpecification merchant, String path, String key, String body) {
        return merchant.header("Idempotency-Key", key)
                .contentType("application/json")
                .body(body)
                .post(path);
    }

    long payments(String reference) {
        return database.count("SELECT count(*) FROM payment WHERE reference = ?", reference);
    }

    long charges(String reference) {
        return database.count("SELECT count(*) FROM gateway_charge WHERE reference = ?", reference);
    }

    private long keys() {
        return database.count("SELECT count(*) FROM idempotency_key");
    }

    static void assertProblem(Response response, int status, String type) {
        assertThat(response.getStatusCode()).as(response.asString()).isEqualTo(status);
        assertThat(response.getContentType()).isEqualTo("application/problem+json");
        assertThat(response.<String>path("type")).isEqualTo(PROBLEMS + type);
        assertThat(response.<Integer>path("status")).isEqualTo(status);
        assertThat(response.getHeader("Idempotent-Replayed")).isNull();
        assertThat(response.getHeader("Set-Cookie")).isNull();
    }

    /** Lines 20, 21, 23 and 25: the same status, bytes and headers; only moments and the mark are new. */
    static void assertReplay(Response first, Response again) {
        assertThat(first.getHeader("Idempotent-Replayed")).isNull();
        assertThat(again.getHeaders().getValues("Idempotent-Replayed")).containsExactly("true");
        assertThat(again.getStatusCode()).isEqualTo(first.getStatusCode());
        assertThat(again.asByteArray()).isEqualTo(first.asByteArray());
        assertThat(lasting(again)).isEqualTo(lasting(first));
    }

    private static List<String> lasting(Response response) {
        return response.getHeaders().asList().stream()
                .filter(header -> !List.of("Date", "Idempotent-Replayed").contains(header.getName()))
                .map(Header::toString)
                .toList();
    }

    @Test
    void theFirstAnswerIsTheHandlersAndARepetitionGetsItAgain() {
        String key = Orders.newKey();
        String reference = Orders.newReference();

        Response first = pay(api.alice(), key, Orders.of("tok_visa", reference));

        assertThat(first.getStatusCode()).isEqualTo(201);
        assertReplay(first, pay(api.alice(), key, Orders.of("tok_visa", reference)));
        assertReplay(first, pay(api.alice(), '"' + key + '"', Orders.of("tok_visa", reference)));
        assertThat(payments(reference)).isEqualTo(1);
        assertThat(charges(reference)).isEqualTo(1);
    }

    @Test
    void aDeclinedCardStaysDeclined() {
        String key = Orders.newKey();
        String order = Orders.of("tok_declined", Orders.newReference());
        Response first = pay(api.alice(), key, order);
        int calls = gateway.calls();

        Response again = pay(api.alice(), key, order);

        assertThat(first.getStatusCode()).isEqualTo(402);
        assertReplay(first, again);
        assertThat(gateway.calls()).isEqualTo(calls);
    }

    @Test
    void anInvalidOrderStaysInvalid() {
        String key = Orders.newKey();
        Response first = pay(api.alice(), key, Orders.of(0, "tok_visa", Orders.newReference()));

        assertThat(first.getStatusCode()).isEqualTo(422);
        assertThat(first.<String>path("type")).doesNotStartWith(PROBLEMS);
    }

    /** Lines 11 and 27. */
    @Test
    void aKeyBelongsToOneRequest() {
        String key = Orders.newKey();
        String reference = Orders.newReference();
        Response first = pay(api.alice(), key, Orders.of("tok_visa", reference));

        assertProblem(pay(api.alice(), key, Orders.of(1251, "tok_visa", reference)), 422, "key-reused");
        assertProblem(pay(api.alice(), key, Orders.of("tok_visa", reference) + " "), 422, "key-reused");
        assertProblem(pay(api.alice(), key, ""), 422, "key-reused");
        assertProblem(pay(api.alice(), "/payments/other", key, Orders.of("tok_visa", reference)), 422, "key-reused");
        assertProblem(pay(api.alice(), "/payments?a=b", key, Orders.of("tok_visa", reference)), 422, "key-reused");

        assertReplay(first, pay(api.alice(), key, Orders.of("tok_visa", reference)));
        assertThat(payments(reference)).isEqualTo(1);
    }

    /** Lines 27, 28 and 29. */
    @Test
    void aRepetitionInFlightIsToldToWaitAndAnotherRequestThatTheKeyIsTaken() throws Exception {
        String key = Orders.newKey();
        String reference = Orders.newReference();
        String order = Orders.of("tok_slow", reference);
        CompletableFuture<Response> first = CompletableFuture.supplyAsync(() -> pay(api.alice(), key, order));
        gateway.awaitSlow(1);

        Response again = pay(api.alice(), key, order);
        Response other = pay(api.alice(), key, Orders.of(1, "tok_slow", reference));

        assertThat(first).isNotDone();
        gateway.answer(1);
        assertProblem(again, 409, "in-progress");
        assertThat(again.getHeader("Retry-After")).isEqualTo("1");
        assertProblem(other, 422, "key-reused");
        Response answer = first.get(1, TimeUnit.MINUTES);
        assertThat(answer.getStatusCode()).isEqualTo(201);
        assertReplay(answer, pay(api.alice(), key, order));
        assertThat(payments(reference)).isEqualTo(1);
        assertThat(charges(reference)).isEqualTo(1);
    }

    static Stream<Arguments> headersWithoutAKey() {
        String longest = "k".repeat(255);
        return Stream.of(
                Arguments.of("key-missing", new String[] {}),
                Arguments.of("key-invalid", new String[] {"Idempotency-Key:"}),
                Arguments.of("key-invalid", new String[] {"Idempotency-Key: \"\""}),
                Arguments.of("key-invalid", new String[] {"Idempotency-Key: a", "Idempotency-Key: a"}),
                Arguments.of("key-invalid", new String[] {"Idempotency-Key: a, b"}),
                Arguments.of("key-invalid", new String[] {"Idempotency-Key: \"abc"}),
                Arguments.of("key-invalid", new String[] {"Idempotency-Key: \"a\\bc\""}),
                Arguments.of("key-invalid", new String[] {"Idempotency-Key: \"abc\" x"}),
                Arguments.of("key-invalid", new String[] {"Idempotency-Key: " + longest + "k"}),
                Arguments.of("key-invalid", new String[] {"Idempotency-Key: \"" + longest + "k\""}),
                Arguments.of("key-invalid", new String[] {"Idempotency-Key: schl\u00fcssel"}),
                Arguments.of("key-invalid", new String[] {"Idempotency-Key: \"schl\u00fcssel\""}));
    }

    /** Lines 2 to 8 and 19. */
    @ParameterizedTest
    @MethodSource("headersWithoutAKey")
    void aRequestWithoutAValidKeyIsRefusedBeforeAnythingHappens(String type, String[] headers) throws Exception {
        long keys = keys();
        int calls = gateway.calls();

        String answer = RawHttp.post(api.port(), Orders.of("tok_visa", "r"), headers);

        assertThat(answer)
                .startsWith("HTTP/1.1 400 ")
                .contains("Content-Type: application/problem+json", PROBLEMS + type, "Idempotency-Key");
        assertThat(keys()).isEqualTo(keys);
        assertThat(gateway.calls()).isEqualTo(calls);
    }

    @ParameterizedTest
    @ValueSource(strings = {"k", "\"k 1\"", "\"a\\\"b\"", "8e03978e-40d5-43dd-bc93-6894a57f9324"})
    void aKeyMayBeQuotedOrBare(String key) {
        Response first = pay(api.bob(), key, Orders.of("tok_visa", "quoting"));

        assertThat(first.getStatusCode()).isEqualTo(201);
        assertReplay(first, pay(api.bob(), key, Orders.of("tok_visa", "quoting")));
    }

    /** Line 10. */
    @Test
    void merchantsWithOneKeyNeverMeet() {
        String key = Orders.newKey();
        String reference = Orders.newReference();

        Response alices = pay(api.alice(), key, Orders.of("tok_visa", reference));
        Response bobs = pay(api.bob(), key, Orders.of("tok_visa", reference));
        Response other = pay(api.bob(), key, Orders.of(7, "tok_visa", reference));

        assertThat(bobs.getStatusCode()).isEqualTo(201);
        assertThat(bobs.getHeader("Idempotent-Replayed")).isNull();
        assertThat(bobs.<String>path("id")).isNotEqualTo(alices.<String>path("id"));
        assertProblem(other, 422, "key-reused");
        assertReplay(alices, pay(api.alice(), key, Orders.of("tok_visa", reference)));
        assertThat(payments(reference)).isEqualTo(2);
        assertThat(charges(reference)).isEqualTo(2);
    }

    /** Line 18. */
    @Test
    void aStrangerLeavesNoTrace() {
        long keys = keys();

        Response refused = pay(api.anonymous(), Orders.newKey(), Orders.of("tok_visa", "r"));

        assertThat(refused.getStatusCode()).isEqualTo(401);
        assertThat(keys()).isEqualTo(keys);
    }

    /** Line 17. */
    @Test
    void aKeyOnAReadMeansNothing() {
        long keys = keys();

        Response list = api.alice()
                .header("Idempotency-Key", Orders.newKey())
                .queryParam("reference", "none")
                .get("/payments");

        assertThat(list.getStatusCode()).isEqualTo(200);
        assertThat(keys()).isEqualTo(keys);
    }

    /** Line 35. */
    @Test
    void anExpiredKeyIsNew() {
        String key = Orders.newKey();
        String reference = Orders.newReference();
        Response first = pay(api.alice(), key, Orders.of("tok_visa", reference));
        database.update("UPDATE idempotency_key SET expires_at = now() WHERE key = ?", key);

        Response anew = pay(api.alice(), key, Orders.of(99, "tok_declined", reference));

        assertThat(first.getStatusCode()).isEqualTo(201);
        assertThat(anew.getStatusCode()).isEqualTo(402);
        assertThat(anew.getHeader("Idempotent-Replayed")).isNull();
    }

    @Test
    void aBodyOverTheLimitIsRefused() {
        Response refused = pay(api.alice(), Orders.newKey(), "\"" + "x".repeat(1 << 20) + "\"");

        assertProblem(refused, 413, "body-too-large");
    }

    @Test
    void answersAreReplayedByAnotherInstance() throws Exception {
        String key = Orders.newKey();
        String reference = Orders.newReference();
        Response first = pay(api.alice(), key, Orders.of("tok_visa", reference));

        try (RunningApi other = RunningApi.start(database.address(), gateway, settings)) {
            assertReplay(first, pay(other.alice(), key, Orders.of("tok_visa", reference)));
        }
        assertThat(payments(reference)).isEqualTo(1);
    }

    /** Lines 28 and 36: 64 threads, one key, 50 rounds. */
    @Test
    void ofACrowdOneIsServed() throws Exception {
        try (Crowd crowd = new Crowd(64, api)) {
            for (int round = 0; round < 50; round++) {
                String reference = Orders.newReference();
                assertOneIsServed(crowd.pay(Orders.newKey(), Orders.of("tok_visa", reference)));
                assertThat(payments(reference)).isEqualTo(1);
                assertThat(charges(reference)).isEqualTo(1);
            }
        }
    }

    /** Line 36: the same where the key was used before, and has expired. */
    @Test
    void ofACrowdWithAnExpiredKeyOneIsServed() throws Exception {
        try (Crowd crowd = new Crowd(64, api)) {
            for (int round = 0; round < 50; round++) {
                String key = Orders.newKey();
                Response before = pay(api.alice(), key, Orders.of("tok_visa", Orders.newReference()));
                database.update("UPDATE idempotency_key SET expires_at = now() WHERE key = ?", key);

                String reference = Orders.newReference();
                // The gateway knows the key's first charge, and wouldn't take another order under it.
                database.update("DELETE FROM gateway_charge");
                String answer = assertOneIsServed(crowd.pay(key, Orders.of("tok_visa", reference)));

                assertThat(answer).isNotEqualTo(before.asString());
                assertThat(payments(reference)).isEqualTo(1);
                assertThat(charges(reference)).isEqualTo(1);
            }
        }
    }

    private static String assertOneIsServed(List<HttpResponse<String>> answers) {
        assertThat(answers)
                .extracting(HttpResponse::statusCode)
                .isSubsetOf(201, 409)
                .contains(201);
        assertThat(answers)
                .filteredOn(answer -> answer.statusCode() == 409)
                .allSatisfy(answer -> assertThat(answer.body()).contains(PROBLEMS + "in-progress"));
        List<HttpResponse<String>> served =
                answers.stream().filter(answer -> answer.statusCode() == 201).toList();
        assertThat(served)
                .extracting(HttpResponse::body)
                .containsOnly(served.get(0).body());
        assertThat(served)
                .extracting(answer -> answer.headers().firstValue("Location"))
                .containsOnly(served.get(0).headers().firstValue("Location"));
        assertThat(served)
                .filteredOn(answer ->
                        answer.headers().firstValue("Idempotent-Replayed").isEmpty())
                .hasSize(1);
        return served.get(0).body();
    }
}
