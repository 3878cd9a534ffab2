// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The payments API without regard to repetitions. */
class ApiTest {

    @RegisterExtension
    private static final TestDatabase DATABASE = new TestDatabase();

    private static RunningApi api;

    @BeforeAll
    static void start() throws StartupException {
        api = RunningApi.start(DATABASE.address());
    }

    @AfterAll
    static void stop() {
        api.close();
    }

    private static RequestSpecification order(RequestSpecification merchant, String body) {
        return merchant.header("Idempotency-Key", Orders.newKey())
                .contentType("application/json")
                .body(body);
    }

    private static Response pay(String body) {
        return order(api.alice(), body).post("/payments");
    }

    private static Response assertProblem(Response response, int status, String type) {
        assertThat(response.getStatusCode()).as(response.asString()).isEqualTo(status);
        assertThat(response.getContentType()).isEqualTo("application/problem+json");
        assertThat(response.getHeader("Set-Cookie")).isNull();
        assertThat(response.<String>path("type")).isEqualTo("https://idemkey.org/example/problems/" + type);
        assertThat(response.<Integer>path("status")).isEqualTo(status);
        assertThat(response.<String>path("title")).isNotEmpty();
        assertThat(response.<String>path("detail")).isNotEmpty();
        return response;
    }

    private static void assertInvalid(Response response, String... fields) {
        Response problem = assertProblem(response, 422, "invalid-request");
        assertThat(problem.<List<String>>path("errors.field")).containsExactly(fields);
        assertThat(problem.<String>path("detail")).startsWith(fields[0] + " ");
    }

    private static Response list(RequestSpecification merchant, String reference) {
        return merchant.queryParam("reference", reference).get("/payments");
    }

    @Test
    void aPaymentIsCreatedAndFound() {
        String reference = Orders.newReference();

        Response created = pay(Orders.of("tok_visa", reference));

        String id = created.<String>path("id");
        assertThat(created.getStatusCode()).isEqualTo(201);
        assertThat(created.getContentType()).isEqualTo("application/json");
        assertThat(created.getHeader("Location")).isEqualTo("/payments/" + id);
        assertThat(created.getHeader("Set-Cookie")).isNull();
        assertThat(created.asString())
                .matches("\\{\"id\":\"" + id
                        + "\",\"status\":\"succeeded\",\"amount\":1250,\"currency\":\"EUR\",\"reference\":\""
                        + reference + "\",\"createdAt\":\"\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z\"}");
        assertThat(api.alice().get(created.getHeader("Location")).asString()).isEqualTo(created.asString());
        assertThat(api.alice()
                        .queryParam("reference", reference)
                        .get("/payments")
                        .asString())
                .isEqualTo("[" + created.asString() + "]");
    }

    @Test
    void paymentsOfAReferenceAreListedInTheirOrder() {
        String reference = Orders.newReference();
        pay(Orders.of(1, "tok_visa", reference));
        pay(Orders.of(2, "tok_visa", reference));
        pay(Orders.of(3, "tok_visa", reference));

        assertThat(list(api.alice(), reference).<List<Integer>>path("amount")).containsExactly(1, 2, 3);
        assertThat(list(api.alice(), "none").asString()).isEqualTo("[]");
    }

    @Test
    void aMerchantSeesNothingOfAnother() {
        String reference = Orders.newReference();
        String location = pay(Orders.of("tok_visa", reference)).getHeader("Location");

        assertProblem(api.bob().get(location), 404, "not-found");
        assertThat(list(api.bob(), reference).asString()).isEqualTo("[]");
    }

    @Test
    void aDeclinedCardIsNoPayment() {
        String reference = Orders.newReference();

        assertProblem(pay(Orders.of("tok_declined", reference)), 402, "payment-declined");

        assertThat(DATABASE.count("SELECT count(*) FROM payment WHERE reference = ?", reference))
                .isZero();
        assertThat(DATABASE.count("SELECT count(*) FROM gateway_charge WHERE reference = ?", reference))
                .isZero();
    }

    @Test
    void aBrokenGatewayIsABadGateway() {
        assertProblem(pay(Orders.of("tok_gateway_error", Orders.newReference())), 502, "gateway-failed");
    }

    @Test
    void aChargeIsBookedOnceForOneKey() throws Exception {
        try (var books = Database.pool("test", 1, DATABASE.address())) {
            PaymentGateway gateway = new SimulatedGateway(books, () -> {});
            PaymentOrder order = new PaymentOrder(1, "EUR", "tok_visa", Orders.newReference());
            String key = Orders.newKey();

            PaymentGateway.Outcome first = gateway.charge(key, order);

            assertThat(gateway.charge(key, order)).isEqualTo(first);
            assertThat(gateway.charge(Orders.newKey(), order)).isNotEqualTo(first);
            assertThatThrownBy(() -> gateway.charge(key, new PaymentOrder(2, "EUR", "tok_visa", order.reference())))
                    .isInstanceOf(PaymentGateway.GatewayException.class);
            assertThat(DATABASE.count("SELECT count(*) FROM gateway_charge WHERE reference = ?", order.reference()))
                    .isEqualTo(2);
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "amount    | {\"currency\": \"EUR\", \"source\": \"tok_visa\", \"reference\": \"r\"}",
                "amount    | {\"amount\": 0, \"currency\": \"EUR\", \"source\": \"tok_visa\", \"reference\": \"r\"}",
                "amount    | {\"amount\": -1, \"currency\": \"EUR\", \"source\": \"tok_visa\", \"reference\": \"r\"}",
                "amount    | {\"amount\": 12.50, \"currency\": \"EUR\", \"source\": \"tok_visa\", \"reference\": \"r\"}",
                "amount    | {\"amount\": 1250.0, \"currency\": \"EUR\", \"source\": \"tok_visa\", \"reference\": \"r\"}",
                "amount    | {\"amount\": 1e3, \"currency\": \"EUR\", \"source\": \"tok_visa\", \"reference\": \"r\"}",
                "amount    | {\"amount\": \"1250\", \"currency\": \"EUR\", \"source\": \"tok_visa\", \"reference\": \"r\"}",
                "amount    | {\"amount\": null, \"currency\": \"EUR\", \"source\": \"tok_visa\", \"reference\": \"r\"}",
                "amount    | {\"amount\": [1], \"currency\": \"EUR\", \"source\": \"tok_visa\", \"reference\": \"r\"}",
                "amount    | {\"amount\": 1000000000001, \"currency\": \"EUR\", \"source\": \"tok_visa\", \"reference\": \"r\"}",
                "amount    | {\"amount\": 9223372036854775808, \"currency\": \"EUR\", \"source\": \"tok_visa\", \"reference\": \"r\"}",
                "amount    | {\"amount\": 18446744073709551617, \"currency\": \"EUR\", \"source\": \"tok_visa\", \"reference\": \"r\"}",
                "currency  | {\"amount\": 1, \"source\": \"tok_visa\", \"reference\": \"r\"}",
                "currency  | {\"amount\": 1, \"currency\": \"eur\", \"source\": \"tok_visa\", \"reference\": \"r\"}",
                "currency  | {\"amount\": 1, \"currency\": \"EURO\", \"source\": \"tok_visa\", \"reference\": \"r\"}",
                "currency  | {\"amount\": 1, \"currency\": \"ZZZ\", \"source\": \"tok_visa\", \"reference\": \"r\"}",
                "currency  | {\"amount\": 1, \"currency\": \"XAU\", \"source\": \"tok_visa\", \"reference\": \"r\"}",
                "currency  | {\"amount\": 1, \"currency\": 978, \"source\": \"tok_visa\", \"reference\": \"r\"}",
                "source    | {\"amount\": 1, \"currency\": \"EUR\", \"reference\": \"r\"}",
                "source    | {\"amount\": 1, \"currency\": \"EUR\", \"source\": \"\", \"reference\": \"r\"}",
                "source    | {\"amount\": 1, \"currency\": \"EUR\", \"source\": \"tok_nothing\", \"reference\": \"r\"}",
                "reference | {\"amount\": 1, \"currency\": \"EUR\", \"source\": \"tok_visa\"}",
                "reference | {\"amount\": 1, \"currency\": \"EUR\", \"source\": \"tok_visa\", \"reference\": \"\"}",
                "reference | {\"amount\": 1, \"currency\": \"EUR\", \"source\": \"tok_visa\", \"reference\": \" \"}",
                "reference | {\"amount\": 1, \"currency\": \"EUR\", \"source\": \"tok_visa\", \"reference\": \"a\\u0000b\"}",
                "reference | {\"amount\": 1, \"currency\": \"EUR\", \"source\": \"tok_visa\", \"reference\": \"a\\ud800b\"}",
                "reference | {\"amount\": 1, \"currency\": \"EUR\", \"source\": \"tok_visa\", \"reference\": 7}",
            })
    void aWrongFieldIsNamed(String field, String body) {
        assertInvalid(pay(body), field);
    }

    @Test
    void allWrongFieldsAreNamed() {
        assertInvalid(pay("{}"), "amount", "currency", "source", "reference");
    }

    @Test
    void aReferenceMayHave64CharactersOfAnyScript() {
        String longest = "\uD83D\uDCB6".repeat(32) + "a".repeat(32);

        assertThat(pay(Orders.of("tok_visa", longest)).getStatusCode()).isEqualTo(201);
        assertInvalid(pay(Orders.of("tok_visa", longest + "b")), "reference");
    }

    @Test
    void theLargestAmountIsTaken() {
        Response created = pay(Orders.of(PaymentOrder.MAX_AMOUNT, "tok_visa", Orders.newReference()));

        assertThat(created.getStatusCode()).isEqualTo(201);
        assertThat(created.<Long>path("amount")).isEqualTo(PaymentOrder.MAX_AMOUNT);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "{",
                "null",
                "[]",
                "\"order\"",
                "{\"amount\": 1} {}",
                "{\"amount\": 1, \"amount\": 2}",
                "{'amount': 1}",
                "{\"amount\": 01}",
                "amount=1250",
            })
    void whatIsNoJsonObjectIsMalformed(String body) {
        assertProblem(pay(body), 400, "malformed-request");
    }

    @ParameterizedTest
    @ValueSource(strings = {"text/plain", "application/xml", "text/json", "application/x-www-form-urlencoded"})
    void anotherMediaTypeIsRefused(String type) {
        assertProblem(
                api.alice()
                        .header("Idempotency-Key", Orders.newKey())
                        .contentType(type)
                        .body(Orders.of("tok_visa", Orders.newReference()))
                        .post("/payments"),
                415,
                "unsupported-media-type");
    }

    @Test
    void aMediaTypeMayHaveParametersAndAnyCase() {
        Response created = api.alice()
                .header("Idempotency-Key", Orders.newKey())
                .contentType("Application/JSON; charset=utf-8")
                .body(Orders.of("tok_visa", Orders.newReference()))
                .post("/payments");

        assertThat(created.getStatusCode()).isEqualTo(201);
    }

    @ParameterizedTest
    @CsvSource({
        "DELETE, /payments, 'GET, HEAD, POST'",
        "PUT, /payments, 'GET, HEAD, POST'",
        "PATCH, /payments, 'GET, HEAD, POST'",
        "DELETE, /payments/pay_1, 'GET, HEAD'",
        "POST, /health, 'GET, HEAD'",
    })
    void anotherMethodIsRefusedAndTheAllowedOnesAreNamed(String method, String path, String allowed) {
        Response refused = api.alice().request(method, path);

        assertProblem(refused, 405, "method-not-allowed");
        assertThat(refused.getHeader("Allow")).isEqualTo(allowed);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"/", "/nothing", "/payments/", "/payments/pay_1", "/payments/a/b", "/paymentsx", "/health/x"})
    void aPathThatLeadsNowhereIsNotFound(String path) {
        assertProblem(api.alice().get(path), 404, "not-found");
    }

    @Test
    void whatTheContainerRefusesIsAProblemToo() {
        assertProblem(api.alice().urlEncodingEnabled(false).get("/payments/%2F"), 400, "bad-request");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "a\u0000b"})
    void aListWantsAReferenceThatCanBe(String reference) {
        assertInvalid(list(api.alice(), reference), "reference");
    }

    @Test
    void aListWantsAReference() {
        assertInvalid(api.alice().get("/payments"), "reference");
    }

    @ParameterizedTest
    @CsvSource({
        "'', 'Bearer realm=\"payments\"'",
        "Basic YWxpY2U6eA==, 'Bearer realm=\"payments\"'",
        "Bearer, 'Bearer realm=\"payments\"'",
        "Bearer sk_demo_carol, 'Bearer realm=\"payments\", error=\"invalid_token\"'",
        "Bearer sk_demo_alice x, 'Bearer realm=\"payments\", error=\"invalid_token\"'",
    })
    void aStrangerGetsNoFurtherThanTheDoor(String authorization, String challenge) {
        long before = DATABASE.count("SELECT count(*) FROM payment");
        Response answer = api.anonymous().header("Authorization", authorization).get("/payments/pay_1");

        assertProblem(answer, 401, "unauthorized");
        assertThat(answer.getHeader("WWW-Authenticate")).isEqualTo(challenge);
        assertProblem(
                order(api.anonymous().header("Authorization", authorization), Orders.of("tok_visa", "r"))
                        .post("/payments"),
                401,
                "unauthorized");
        assertThat(DATABASE.count("SELECT count(*) FROM payment")).isEqualTo(before);
    }

    @Test
    void theSchemeOfTheTokenHasNoCase() {
        RequestSpecification alice = api.anonymous().header("Authorization", "bearer sk_demo_alice");

        assertThat(list(alice, "r").getStatusCode()).isEqualTo(200);
    }

    @Test
    void healthIsTheDatabasesAndForAnybody() {
        Response health = api.anonymous().get("/health");

        assertThat(health.getStatusCode()).isEqualTo(200);
        assertThat(health.asString()).isEqualTo("{\"status\":\"up\"}");
        assertThat(health.getHeader("Cache-Control")).isEqualTo("no-store");
    }

    @Test
    void headAnswersAsGetWithoutABody() {
        Response head = api.alice().head("/health");

        assertThat(head.getStatusCode()).isEqualTo(200);
        assertThat(head.asByteArray()).isEmpty();
    }

    @Test
    void whatBreaksInsideStaysInside() {
        String location = pay(Orders.of("tok_visa", Orders.newReference())).getHeader("Location");
        DATABASE.update("ALTER TABLE payment RENAME COLUMN charge_id TO moved");
        try {
            Response problem = assertProblem(api.alice().get(location), 500, "internal-error");

            assertThat(problem.<String>path("detail")).isEqualTo("The server failed. Its log knows why.");
            assertThat(problem.<Map<String, Object>>path("")).hasSize(4);
        } finally {
            DATABASE.update("ALTER TABLE payment RENAME COLUMN moved TO charge_id");
        }
    }
}
