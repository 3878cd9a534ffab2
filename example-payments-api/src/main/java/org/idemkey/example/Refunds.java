// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.idemkey.IdempotencyContext;
import org.idemkey.example.PaymentStore.Condition;
import org.jspecify.annotations.Nullable;

/** Giving payments back, in whole or in part, and telling of it. Thread-safe. */
final class Refunds {

    private final RefundStore store;
    private final boolean ownTransaction;

    /**
     * Refunds.
     *
     * @param ownTransaction whether a refund commits by itself, rather than with the record of its key
     */
    Refunds(RefundStore store, boolean ownTransaction) {
        this.store = store;
        this.ownTransaction = ownTransaction;
    }

    /**
     * Refunds a payment or a part of it.
     *
     * @param context the protected request that this serves; null if nothing protects it, and then each call refunds
     * @throws ApiProblem if there is no such payment, or less is left of it, or another request has taken the key over
     * @throws SQLException if the refund could not be recorded, or nobody knows whether it was
     */
    Refund refund(String merchant, RefundOrder order, @Nullable IdempotencyContext context) throws SQLException {
        Condition condition = context != null && ownTransaction ? Payments.stillOurs(context) : Condition.NONE;
        return store.add("ref_" + UUID.randomUUID(), merchant, order, condition);
    }

    /** One of the merchant's refunds; empty if it has none of that id. */
    Optional<Refund> find(String merchant, String id) throws SQLException {
        return store.find(merchant, id);
    }

    /** The refunds of one of the merchant's payments, oldest first, {@value PaymentStore#MAX_LISTED} at most. */
    List<Refund> list(String merchant, String payment) throws SQLException {
        return store.list(merchant, payment);
    }
}
