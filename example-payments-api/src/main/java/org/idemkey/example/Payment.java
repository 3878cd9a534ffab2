// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import java.time.Instant;

/**
 * Money that a merchant has received.
 *
 * @param id what the API calls it by
 * @param merchant whose it is; nobody else sees it
 * @param amount in the currency's minor units
 * @param currency ISO 4217
 * @param reference the merchant's own name for what is paid
 * @param chargeId what the gateway calls it by
 * @param createdAt to the millisecond, by the database's clock
 */
record Payment(
        String id,
        String merchant,
        long amount,
        String currency,
        String reference,
        String chargeId,
        Instant createdAt) {}
