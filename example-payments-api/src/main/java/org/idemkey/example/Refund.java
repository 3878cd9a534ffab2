// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import java.time.Instant;

/**
 * Money that a merchant has given back.
 *
 * @param id what the API calls it by
 * @param payment the id of the payment that it is of, the same merchant's
 * @param amount in the currency's minor units
 * @param currency the payment's
 * @param createdAt to the millisecond, by the database's clock
 */
record Refund(String id, String payment, long amount, String currency, Instant createdAt) {}
