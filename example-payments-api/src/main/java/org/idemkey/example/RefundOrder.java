// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import tools.jackson.databind.JsonNode;

/**
 * The refund that a client asks for, checked.
 *
 * @param payment the id of a payment; whether there is one, the database knows
 * @param amount in minor units, 1 to {@value PaymentOrder#MAX_AMOUNT}
 */
record RefundOrder(String payment, long amount) {

    static final String PAYMENT_RULE = "must be the id of one of your payments";

    private static final Pattern ID = Pattern.compile("[A-Za-z0-9_-]{1,64}");

    /**
     * Takes an order from a JSON document. Members that it doesn't know are ignored.
     *
     * @throws ApiProblem if a member is missing or wrong: one that names all of these
     */
    static RefundOrder of(JsonNode document) {
        List<ApiProblem.FieldError> errors = new ArrayList<>();
        JsonNode payment = document.path("payment");
        if (!payment.isString() || !isId(payment.stringValue())) {
            errors.add(new ApiProblem.FieldError("payment", PAYMENT_RULE));
        }
        JsonNode amount = document.path("amount");
        if (!PaymentOrder.isAmount(amount)) {
            errors.add(new ApiProblem.FieldError("amount", PaymentOrder.AMOUNT_RULE));
        }
        if (!errors.isEmpty()) {
            throw ApiProblem.invalid(errors);
        }
        return new RefundOrder(payment.stringValue(), amount.longValue());
    }

    /** Whether a text can be an id at all. */
    static boolean isId(String text) {
        return ID.matcher(text).matches();
    }
}
