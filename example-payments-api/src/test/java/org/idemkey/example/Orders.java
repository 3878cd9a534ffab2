// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import java.util.UUID;

/** Bodies and keys as clients send them. */
final class Orders {

    private Orders() {}

    static String of(String source, String reference) {
        return of(1250, source, reference);
    }

    static String of(long amount, String source, String reference) {
        return """
                {"amount": %d, "currency": "EUR", "source": "%s", "reference": "%s"}""".formatted(amount, source, reference);
    }

    /** A reference that no other test uses. */
    static String newReference() {
        return "order-" + UUID.randomUUID();
    }

    static String newKey() {
        return UUID.randomUUID().toString();
    }
}
