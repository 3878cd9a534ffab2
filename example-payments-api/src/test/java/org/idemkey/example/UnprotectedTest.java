// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What all the other tests are about: without Idemkey, a repetition pays again. */
class UnprotectedTest {

    @RegisterExtension
    private static final TestDatabase DATABASE = new TestDatabase();

    @Test
    void aRepetitionPaysAndChargesAgain() throws Exception {
        String key = Orders.newKey();
        String reference = Orders.newReference();
        try (RunningApi api = RunningApi.start(DATABASE.address(), "IDEMPOTENCY_MODE", "unprotected")) {
            for (int i = 0; i < 2; i++) {
                assertThat(RepetitionScenarios.pay(api.alice(), key, Orders.of("tok_visa", reference))
                                .getStatusCode())
                        .isEqualTo(201);
            }
        }
        assertThat(DATABASE.count("SELECT count(*) FROM payment WHERE reference = ?", reference))
                .isEqualTo(2);
        assertThat(DATABASE.count("SELECT count(*) FROM gateway_charge WHERE reference = ?", reference))
                .isEqualTo(2);
    }
}
