// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Refunds, which are the JAX-RS part of the API, in each mode. */
@ParameterizedClass
@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "UNPROTECTED")
class RefundTest {

    private static final int CROWD = 16;

    @RegisterExtension
    private static final TestDatabase DATABASE = new TestDatabase();

    private static RunningApi api;

    private final IdempotencyMode mode;

    RefundTest(IdempotencyMode mode) {
        this.mode = mode;
    }

    @BeforeParameterizedClassInvocation
    static void start(IdempotencyMode mode) throws StartupException {
        api = RunningApi.start(DATABASE.address(), "IDEMPOTENCY_MODE", mode.toString());
    }

    @AfterParameterizedClassInvocation
    static void stop() {
        api.close();
    }

    /** A payment of 1250, by its id. */
    private static String paid() {
        return paid(Orders.newReference());
    }

    private static String paid(String reference) {
        return RepetitionScenarios.pay(api.alice(), Orders.newKey(), Orders.of("tok_visa", reference))
                .path("id");
    }

    private static String order(String payment, long amount) {
        return "{\"payment\": \"" + payment + "\", \"amount\": " + amount + "}";
    }

    private static Response refund(String key, String order) {
        return refund(api.alice(), key, order);
    }

    private static Response refund(RequestSpecification merchant, String key, String order) {
        return merchant.header("Idempotency-Key", key)
                .contentType("application/json")
                .body(order)
                .post("/refunds");
    }

    private static void assertProblem(Response response, int status, String type) {
        assertThat(response.getStatusCode()).as(response.asString()).isEqualTo(status);
        assertThat(response.getContentType()).isEqualTo("application/problem+json");
        assertThat(response.<String>path("type")).isEqualTo("https://idemkey.org/" + type);
        assertThat(response.<Integer>path("status")).isEqualTo(status);
    }

    private static void assertReplay(Response first, Response again) {
        assertThat(again.getHeader("Idempotent-Replayed")).isEqualTo("true");
        assertThat(first.getHeader("Idempotent-Replayed")).isNull();
        assertThat(again.getStatusCode()).isEqualTo(first.getStatusCode());
        assertThat(again.getContentType()).isEqualTo(first.getContentType());
        assertThat(again.getHeader("Location")).isEqualTo(first.getHeader("Location"));
        assertThat(again.asString()).isEqualTo(first.asString());
    }

    private static long refunds(String payment) {
        return DATABASE.count("SELECT count(*) FROM refund WHERE payment_id = ?", payment);
    }

    @Test
    void aRefundIsCreatedAndFound() {
        String payment = paid();

        Response created = refund(Orders.newKey(), order(payment, 500));

        String id = created.<String>path("id");
        assertThat(created.getStatusCode()).as(created.asString()).isEqualTo(201);
        assertThat(created.getContentType()).isEqualTo("application/json");
        assertThat(created.getHeader("Location")).isEqualTo("/refunds/" + id);
        assertThat(created.asString())
                .matches("\\{\"id\":\"" + id + "\",\"payment\":\"" + payment
                        + "\",\"amount\":500,\"currency\":\"EUR\","
                        + "\"createdAt\":\"\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z\"}");
        assertThat(api.alice().get("/refunds/" + id).asString()).isEqualTo(created.asString());
        assertThat(api.alice().queryParam("payment", payment).get("/refunds").asString())
                .isEqualTo("[" + created.asString() + "]");
    }

    @Test
    void aRepetitionIsTheSameRefund() {
        String payment = paid();
        String key = Orders.newKey();
        Response first = refund(key, order(payment, 500));

        assertReplay(first, refund(key, order(payment, 500)));
        assertReplay(first, refund(key, order(payment, 500)));
        assertProblem(refund(key, order(payment, 501)), 422, "problems/key-reused");
        assertThat(refunds(payment)).isEqualTo(1);
    }

    @Test
    void aRefundNeedsAKeyAndAMerchant() {
        String payment = paid();
        assertProblem(
                api.alice()
                        .contentType("application/json")
                        .body(order(payment, 500))
                        .post("/refunds"),
                400,
                "problems/key-missing");
        assertProblem(
                refund(api.anonymous(), Orders.newKey(), order(payment, 500)), 401, "example/problems/unauthorized");
        assertThat(refunds(payment)).isZero();
    }

    @Test
    void moreThanIsLeftIsRefusedAndStaysSo() {
        String payment = paid();
        String key = Orders.newKey();
        refund(Orders.newKey(), order(payment, 1000));

        Response refused = refund(key, order(payment, 251));

        assertProblem(refused, 422, "example/problems/refund-too-large");
        assertThat(refused.<String>path("detail")).contains("250");
        assertReplay(refused, refund(key, order(payment, 251)));
        assertThat(refund(Orders.newKey(), order(payment, 250)).getStatusCode()).isEqualTo(201);
        assertThat(refunds(payment)).isEqualTo(2);
    }

    @Test
    void severalRefundsAtOnceNeverExceedThePayment() throws Exception {
        String payment = paid();
        ExecutorService crowd = Executors.newFixedThreadPool(CROWD);
        try {
            CyclicBarrier start = new CyclicBarrier(CROWD);
            List<Future<Integer>> asked = new ArrayList<>();
            for (int i = 0; i < CROWD; i++) {
                asked.add(crowd.submit(() -> {
                    start.await(1, TimeUnit.MINUTES);
                    String key = Orders.newKey();
                    int status;
                    do {
                        status = refund(key, order(payment, 300)).getStatusCode();
                        // Too many at once for this machine: nothing was done, so it is tried again.
                    } while (status == 503);
                    return status;
                }));
            }
            int created = 0;
            for (Future<Integer> status : asked) {
                int answer = status.get(2, TimeUnit.MINUTES);
                assertThat(answer).isIn(201, 422);
                created += answer == 201 ? 1 : 0;
            }
            assertThat(created).isEqualTo(4);
        } finally {
            crowd.shutdownNow();
        }
        assertThat(DATABASE.count("SELECT sum(amount) FROM refund WHERE payment_id = ?", payment))
                .isEqualTo(1200);
    }

    /** All three take their time from the transaction that they are written in, to the microsecond. */
    @Test
    void refundKeyAndEventAreOneTransaction() {
        assumeTrue(mode == IdempotencyMode.SAME_TRANSACTION, "under a lease the claim is a transaction of its own");
        String payment = paid();
        String key = Orders.newKey();
        refund(key, order(payment, 500));

        assertThat(DATABASE.count("""
                SELECT count(*) FROM refund r, outbox o, idempotency_key k
                WHERE r.payment_id = ? AND o.aggregate_id = r.payment_id AND o.event_type = 'PaymentRefunded'
                AND k.key = ? AND o.created_at = k.created_at
                AND r.created_at = date_trunc('milliseconds', k.created_at)""", payment, key)).isEqualTo(1);
    }

    @Test
    void aRefundIsBookedAfterItsPayment() {
        String reference = Orders.newReference();
        String payment = paid(reference);
        refund(Orders.newKey(), order(payment, 500));
        refund(Orders.newKey(), order(payment, 751));

        await().atMost(Duration.ofMinutes(1))
                .until(() -> DATABASE.count("SELECT count(*) FROM outbox WHERE published_at IS NULL") == 0);
        Response ledger = api.alice().queryParam("reference", reference).get("/ledger");
        assertThat(ledger.<List<Integer>>path("amount")).containsExactly(1250, -500);
        assertThat(ledger.<List<String>>path("type")).containsExactly("PaymentSucceeded", "PaymentRefunded");
        assertThat(ledger.<List<String>>path("payment")).containsOnly(payment);
    }

    /** One table, one notion of a request, though one is a servlet's and the other a resource's. */
    @Test
    void aKeyOfARefundIsNoKeyOfAPaymentNorTheOtherWayRound() {
        String key = Orders.newKey();
        String payment = paid();
        assertThat(refund(key, order(payment, 500)).getStatusCode()).isEqualTo(201);
        Response paying = api.alice()
                .header("Idempotency-Key", key)
                .contentType("application/json")
                .body(order(payment, 500))
                .post("/payments");
        assertProblem(paying, 422, "problems/key-reused");

        String other = Orders.newKey();
        String body = Orders.of("tok_visa", Orders.newReference());
        api.alice()
                .header("Idempotency-Key", other)
                .contentType("application/json")
                .body(body)
                .post("/payments");
        assertProblem(refund(other, body), 422, "problems/key-reused");
    }

    @Test
    void aPaymentOfSomebodyElseIsNone() {
        String payment = paid();
        Response refund = refund(Orders.newKey(), order(payment, 500));

        assertProblem(refund(api.bob(), Orders.newKey(), order(payment, 500)), 422, "example/problems/invalid-request");
        assertProblem(api.bob().get("/refunds/" + refund.<String>path("id")), 404, "example/problems/not-found");
        assertThat(api.bob().queryParam("payment", payment).get("/refunds").asString())
                .isEqualTo("[]");
        assertThat(refunds(payment)).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{}",
                "{\"payment\": 7, \"amount\": 500}",
                "{\"payment\": \"no such\", \"amount\": 500}",
                "{\"payment\": \"pay_1\", \"amount\": 0}",
                "{\"payment\": \"pay_1\", \"amount\": 1.5}",
                "{\"payment\": \"pay_1\", \"amount\": \"500\"}"
            })
    void whatIsNoOrderIsRefused(String body) {
        assertProblem(refund(Orders.newKey(), body), 422, "example/problems/invalid-request");
    }

    @ParameterizedTest
    @CsvSource({"{,400,malformed-request", "[],400,malformed-request"})
    void whatIsNoJsonIsRefused(String body, int status, String type) {
        assertProblem(refund(Orders.newKey(), body), status, "example/problems/" + type);
    }

    @Test
    void theRuntimeSpeaksTheApisWords() {
        assertProblem(api.alice().get("/refunds/ref_none"), 404, "example/problems/not-found");
        assertProblem(api.alice().get("/refunds/a/b"), 404, "example/problems/not-found");
        assertProblem(api.alice().get("/refunds"), 422, "example/problems/invalid-request");
        Response deleted = api.alice().delete("/refunds");
        assertProblem(deleted, 405, "example/problems/method-not-allowed");
        assertThat(deleted.getHeader("Allow")).contains("GET").contains("POST");
        assertProblem(
                api.alice()
                        .header("Idempotency-Key", Orders.newKey())
                        .contentType("text/plain")
                        .body("x")
                        .post("/refunds"),
                415,
                "example/problems/unsupported-media-type");
    }
}
