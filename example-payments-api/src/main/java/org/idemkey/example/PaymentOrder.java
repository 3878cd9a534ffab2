// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import java.util.ArrayList;
import java.util.Currency;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import tools.jackson.databind.JsonNode;

/**
 * What a client asks for, checked.
 *
 * @param amount in minor units, 1 to {@value #MAX_AMOUNT}
 * @param currency an ISO 4217 code of a currency that has minor units, or none by nature; no metals, no test codes
 * @param source the means of payment; which ones there are, the gateway knows
 * @param reference 1 to {@value #MAX_REFERENCE} characters, none of them a control character
 */
record PaymentOrder(long amount, String currency, String source, String reference) {

    /** Far from overflowing any sum, and more than anybody pays at once. */
    static final long MAX_AMOUNT = 1_000_000_000_000L;

    static final int MAX_REFERENCE = 64;

    /** A source is looked up, never stored, so this only keeps nonsense short. */
    private static final int MAX_SOURCE = 64;

    private static final Set<String> CURRENCIES = Currency.getAvailableCurrencies().stream()
            .filter(currency -> currency.getDefaultFractionDigits() >= 0)
            .map(Currency::getCurrencyCode)
            .collect(Collectors.toUnmodifiableSet());

    /**
     * Takes an order from a JSON document. Members that it doesn't know are ignored.
     *
     * @throws ApiProblem if a member is missing or wrong: one that names all of these
     */
    static PaymentOrder of(JsonNode document) {
        List<ApiProblem.FieldError> errors = new ArrayList<>();
        JsonNode amount = document.path("amount");
        if (!isAmount(amount)) {
            errors.add(new ApiProblem.FieldError("amount", AMOUNT_RULE));
        }
        JsonNode currency = document.path("currency");
        if (!currency.isString() || !CURRENCIES.contains(currency.stringValue())) {
            errors.add(new ApiProblem.FieldError("currency", "must be an ISO 4217 currency code, such as \"EUR\""));
        }
        JsonNode source = document.path("source");
        if (!source.isString() || !isText(source.stringValue(), MAX_SOURCE)) {
            errors.add(new ApiProblem.FieldError("source", "must be a source of payment, such as \"tok_visa\""));
        }
        JsonNode reference = document.path("reference");
        if (!reference.isString() || !isReference(reference.stringValue())) {
            errors.add(new ApiProblem.FieldError("reference", REFERENCE_RULE));
        }
        if (!errors.isEmpty()) {
            throw ApiProblem.invalid(errors);
        }
        return new PaymentOrder(
                amount.longValue(), currency.stringValue(), source.stringValue(), reference.stringValue());
    }

    static final String AMOUNT_RULE = "must be an integer in minor units, from 1 to " + MAX_AMOUNT;

    /** Whether a value can be an amount at all. */
    static boolean isAmount(JsonNode value) {
        return value.isIntegralNumber()
                && value.canConvertToLong()
                && value.longValue() >= 1
                && value.longValue() <= MAX_AMOUNT;
    }

    static final String REFERENCE_RULE = "must have 1 to " + MAX_REFERENCE + " characters, and no control character";

    /** Whether a text can be a payment's reference at all. */
    static boolean isReference(String text) {
        return isText(text, MAX_REFERENCE);
    }

    /** Code points, without what PostgreSQL's text can't hold: U+0000 and halves of surrogate pairs. */
    private static boolean isText(String text, int maxLength) {
        return !text.isBlank()
                && text.codePointCount(0, text.length()) <= maxLength
                && text.codePoints()
                        .noneMatch(c -> Character.isISOControl(c) || Character.getType(c) == Character.SURROGATE);
    }
}
