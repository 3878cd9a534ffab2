// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/** How a payment and its key are kept together. Each one's name in the environment is its own, in kebab case. */
enum IdempotencyMode {
    /** Payment, key and answer commit together; the transaction is open while the gateway is asked. */
    SAME_TRANSACTION,
    /** The key is claimed first, and payment and answer commit together; nothing is open while the gateway is asked. */
    JOINED_LEASE,
    /** The key is claimed, the payment made and the answer recorded, each in a transaction of its own. */
    LEASE,
    /**
     * Keys are ignored, and each repetition pays again: what this service would be without Idemkey. Only there to show
     * that tests which look for a second payment do find it.
     */
    UNPROTECTED;

    /** The mode of that name, if there is one. */
    static Optional<IdempotencyMode> named(String name) {
        return Arrays.stream(values())
                .filter(mode -> mode.toString().equals(name))
                .findFirst();
    }

    /** The names that a user can choose from, in one line. */
    static String choices() {
        return Arrays.stream(values())
                .filter(mode -> mode != UNPROTECTED)
                .map(IdempotencyMode::toString)
                .collect(Collectors.joining(", "));
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
