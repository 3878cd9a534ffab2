// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.idemkey.IdempotencyContext;
import org.idemkey.Lease;
import org.idemkey.example.PaymentGateway.Charged;
import org.idemkey.example.PaymentGateway.Declined;
import org.idemkey.example.PaymentGateway.GatewayException;
import org.idemkey.example.PaymentGateway.Outcome;
import org.idemkey.example.PaymentStore.Condition;
import org.jspecify.annotations.Nullable;

/** What the API is for: taking payments, and telling of them. Thread-safe. */
final class Payments {

    private final PaymentStore store;
    private final PaymentGateway gateway;
    private final boolean ownTransaction;

    /**
     * Payments.
     *
     * @param ownTransaction whether a payment commits by itself, rather than with the record of its key
     */
    Payments(PaymentStore store, PaymentGateway gateway, boolean ownTransaction) {
        this.store = store;
        this.gateway = gateway;
        this.ownTransaction = ownTransaction;
    }

    /**
     * Charges the source and records the payment.
     *
     * @param context the protected request that this serves; null if nothing protects it, and then each call charges
     * @throws ApiProblem if the source is unknown or declines, or the gateway fails, or another request has taken the
     *     key over
     * @throws SQLException if the payment could not be recorded, or nobody knows whether it was
     */
    Payment pay(String merchant, PaymentOrder order, @Nullable IdempotencyContext context) throws SQLException {
        // The same for each attempt at this request, so the gateway charges once even if we forget that it did.
        String chargeKey = context == null ? UUID.randomUUID().toString() : context.downstreamKey("charge");
        Outcome outcome;
        try {
            outcome = gateway.charge(chargeKey, order);
        } catch (GatewayException e) {
            throw ApiProblem.gatewayFailed();
        }
        if (outcome instanceof Charged charged) {
            // A new id for each attempt: it is the key's claim that keeps a second payment out, and nothing else.
            Condition condition = context != null && ownTransaction ? stillOurs(context) : Condition.NONE;
            return store.add("pay_" + UUID.randomUUID(), merchant, order, charged.chargeId(), condition);
        } else if (outcome instanceof Declined declined) {
            throw ApiProblem.declined(declined.reason());
        }
        throw ApiProblem.invalid(List.of(new ApiProblem.FieldError("source", "is not known to the gateway")));
    }

    /**
     * For a transaction of the handler's own: it holds only while the claim does, and tells of itself, so that whoever
     * finds the claim lapsed knows that the effect is there.
     */
    static Condition stillOurs(IdempotencyContext context) {
        return connection -> {
            try {
                context.lease().confirm(connection);
            } catch (Lease.LostException e) {
                throw ApiProblem.superseded();
            }
        };
    }

    /** One of the merchant's payments; empty if it has none of that id. */
    Optional<Payment> find(String merchant, String id) throws SQLException {
        return store.find(merchant, id);
    }

    /** The merchant's payments for a reference, oldest first, {@value PaymentStore#MAX_LISTED} at most. */
    List<Payment> list(String merchant, String reference) throws SQLException {
        return store.list(merchant, reference);
    }
}
