// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import static org.assertj.core.api.Assertions.assertThat;

import io.restassured.response.Response;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** A payment that commits with the record of its answer, after a claim that held no connection. */
class JoinedLeaseTest extends RepetitionScenarios {

    JoinedLeaseTest() {
        super("IDEMPOTENCY_MODE", "joined-lease");
    }

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

    @Test
    void paymentsThatWaitForTheGatewayHoldNoConnection() throws Exception {
        int slow = 32;
        String reference = Orders.newReference();
        ExecutorService clients = Executors.newFixedThreadPool(slow);
        try {
            List<CompletableFuture<Response>> answers = new ArrayList<>();
            for (int i = 0; i < slow; i++) {
                answers.add(CompletableFuture.supplyAsync(
                        () -> pay(api.alice(), Orders.newKey(), Orders.of("tok_slow", reference)), clients));
            }
            gateway.awaitSlow(slow);

            // None but for moments, when leases are renewed.
            Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> api.connectionsInUse() == 0);
            assertThat(answers).noneMatch(CompletableFuture::isDone);

            gateway.answer(slow);
            for (CompletableFuture<Response> answer : answers) {
                assertThat(answer.get(1, TimeUnit.MINUTES).getStatusCode()).isEqualTo(201);
            }
            assertThat(payments(reference)).isEqualTo(slow);
        } finally {
            clients.shutdownNow();
        }
    }
}
