// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import org.idemkey.messaging.OutboxEvent;

/** What payments announce of themselves. The payment is the aggregate: nobody hears of a refund before the payment. */
final class PaymentEvents {

    static final String AGGREGATE = "payment";

    /** Where Kafka has them, by the relay's and Debezium's rule. */
    static final String TOPIC = "outbox.event." + AGGREGATE;

    static final String PAID = "PaymentSucceeded";

    static final String REFUNDED = "PaymentRefunded";

    private PaymentEvents() {}

    /** A payment has been made. */
    static OutboxEvent paid(Payment payment) {
        return event(PAID, payment.id(), payment.merchant(), payment.reference(), payment.amount(), payment.currency());
    }

    /** A payment has been given back, or a part of it: to the balance that is an amount below zero. */
    static OutboxEvent refunded(Payment payment, Refund refund) {
        return event(
                REFUNDED, payment.id(), payment.merchant(), payment.reference(), -refund.amount(), payment.currency());
    }

    private static OutboxEvent event(
            String type, String payment, String merchant, String reference, long amount, String currency) {
        String payload = Json.object()
                .put("payment", payment)
                .put("merchant", merchant)
                .put("reference", reference)
                .put("amount", amount)
                .put("currency", currency)
                .toString();
        return OutboxEvent.of(AGGREGATE, payment, type, payload);
    }
}
