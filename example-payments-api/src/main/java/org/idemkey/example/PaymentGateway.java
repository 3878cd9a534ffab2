// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

/** The third party that moves the money. It has books of its own, which no transaction of ours reaches. */
interface PaymentGateway {

    /**
     * Charges a source, once for each key: the same charge asked for again gets the same outcome.
     *
     * @param key our idempotency key for the gateway, at most 64 characters
     * @throws GatewayException if the gateway failed, so that nobody knows whether it charged; asking again with the
     *     same key is safe
     */
    Outcome charge(String key, PaymentOrder order) throws GatewayException;

    /** What came of it. */
    sealed interface Outcome {}

    /** The money is ours. */
    record Charged(String chargeId) implements Outcome {}

    /** The source refused, for good. */
    record Declined(String reason) implements Outcome {}

    /** There is no such source. */
    record UnknownSource() implements Outcome {}

    /** The gateway gave no answer that could be believed. */
    final class GatewayException extends Exception {

        private static final long serialVersionUID = 1L;

        GatewayException(String message, Throwable cause) {
            super(message, cause);
        }

        GatewayException(String message) {
            super(message);
        }
    }
}
