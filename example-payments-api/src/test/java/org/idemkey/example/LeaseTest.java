// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import static org.assertj.core.api.Assertions.assertThat;

import io.restassured.response.Response;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A payment that commits by itself, between the claim and the record of the answer. */
class LeaseTest extends RepetitionScenarios {

    LeaseTest() {
        super("IDEMPOTENCY_MODE", "lease");
    }

    /** Line 32. */
    @Test
    void whatAGatewaysFailureLeftBehindIsUnknownSoItStaysAFailure() {
        String key = Orders.newKey();
        String order = Orders.of("tok_gateway_error", Orders.newReference());

        Response first = pay(api.alice(), key, order);

        assertThat(first.getStatusCode()).isEqualTo(502);
        assertReplay(first, pay(api.alice(), key, order));
    }

    /** Lines 37 and 39: whoever was taken for dead and goes on all the same makes no payment any more. */
    @Test
    void anOwnerThatHasLostItsClaimDoesNotPay() throws Exception {
        String key = Orders.newKey();
        String reference = Orders.newReference();
        String order = Orders.of("tok_slow", reference);
        CompletableFuture<Response> first = CompletableFuture.supplyAsync(() -> pay(api.alice(), key, order));
        gateway.awaitSlow(1);
        // As after a takeover: the row is another claim's.
        database.update("UPDATE idempotency_key SET claim_token = gen_random_uuid() WHERE key = ?", key);

        gateway.answer(1);

        assertProblem(first.get(1, TimeUnit.MINUTES), 409, "in-progress");
        assertThat(payments(reference)).isZero();
    }
}
