// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import static org.assertj.core.api.Assertions.assertThat;

import io.restassured.response.Response;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The default: a payment, its key and its answer in one transaction. */
class SameTransactionTest extends RepetitionScenarios {

    /** Three quarters of the pool: what {@code PostgresTransactionStore} lets in at once. */
    private static final int AT_ONCE = 12;

    /** Line 32. */
    @Test
    void aGatewaysFailureFreesTheKey() {
        String key = Orders.newKey();
        String order = Orders.of("tok_gateway_error", Orders.newReference());

        assertThat(pay(api.alice(), key, order).getStatusCode()).isEqualTo(502);
        Response again = pay(api.alice(), key, order);

        assertThat(again.getStatusCode()).isEqualTo(502);
        assertThat(again.getHeader("Idempotent-Replayed")).isNull();
    }

    /** Line 40: the transaction's connection is lost while the gateway is asked. */
    @Test
    void aPaymentWhoseConnectionIsLostLeavesNothingButTheGatewaysCharge() throws Exception {
        String key = Orders.newKey();
        String reference = Orders.newReference();
        String order = Orders.of("tok_slow", reference);
        CompletableFuture<Response> first = CompletableFuture.supplyAsync(() -> pay(api.alice(), key, order));
        gateway.awaitSlow(1);
        long lost = database.count("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                + " WHERE datname = current_database() AND state = 'idle in transaction'"
                + " AND application_name = 'payments-api payments'");
        assertThat(lost).isEqualTo(1);
        gateway.answer(1);

        Response failed = first.get(1, TimeUnit.MINUTES);
        assertThat(failed.getStatusCode()).isEqualTo(503);
        assertThat(failed.getHeader("Retry-After")).isEqualTo("1");
        assertThat(payments(reference)).isZero();

        // The gateway knows its key, so it answers at once, and charges nothing more.
        Response again = pay(api.alice(), key, order);
        assertThat(again.getStatusCode()).isEqualTo(201);
        assertThat(payments(reference)).isEqualTo(1);
        assertThat(charges(reference)).isEqualTo(1);
    }

    @Test
    void slowPaymentsLeaveConnectionsForEverybodyElse() throws Exception {
        int slow = 32;
        String reference = Orders.newReference();
        String location = pay(api.alice(), Orders.newKey(), Orders.of("tok_visa", Orders.newReference()))
                .getHeader("Location");
        ExecutorService clients = Executors.newFixedThreadPool(slow);
        try {
            Map<String, CompletableFuture<Response>> answers = new LinkedHashMap<>();
            for (int i = 0; i < slow; i++) {
                String key = Orders.newKey();
                answers.put(
                        key,
                        CompletableFuture.supplyAsync(
                                () -> pay(api.alice(), key, Orders.of("tok_slow", reference)), clients));
            }
            gateway.awaitSlow(AT_ONCE);

            // All that are let in wait for the gateway, and will until they are told, yet reads are served.
            for (int i = 0; i < slow; i++) {
                assertThat(api.alice().get(location).getStatusCode()).isEqualTo(200);
            }
            assertThat(answers.values().stream()
                            .filter(CompletableFuture::isDone)
                            .count())
                    .isLessThanOrEqualTo(slow - AT_ONCE);
            assertThat(api.connectionsInUse()).isEqualTo(AT_ONCE);

            gateway.answer(slow);
            List<String> turnedAway = new ArrayList<>();
            for (Map.Entry<String, CompletableFuture<Response>> answer : answers.entrySet()) {
                Response response = answer.getValue().get(2, TimeUnit.MINUTES);
                if (response.getStatusCode() != 201) {
                    assertProblem(response, 503, "store-unavailable");
                    assertThat(response.getHeader("Retry-After")).isEqualTo("1");
                    turnedAway.add(answer.getKey());
                }
            }
            assertThat(turnedAway).hasSizeLessThanOrEqualTo(slow - AT_ONCE);
            for (String key : turnedAway) {
                assertThat(pay(api.alice(), key, Orders.of("tok_slow", reference))
                                .getStatusCode())
                        .isEqualTo(201);
            }
            assertThat(payments(reference)).isEqualTo(slow);
            assertThat(charges(reference)).isEqualTo(slow);
        } finally {
            clients.shutdownNow();
        }
    }
}
