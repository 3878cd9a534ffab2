// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import java.util.concurrent.CountDownLatch;

/** The program with a gateway that charges {@code tok_slow} and never answers, so that it can be killed in between. */
final class StuckApi {

    private StuckApi() {}

    public static void main(String[] arguments) throws Exception {
        PaymentsApi.run(books -> new SimulatedGateway(books, () -> new CountDownLatch(1).await()));
    }
}
