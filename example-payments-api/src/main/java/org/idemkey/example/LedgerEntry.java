// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import java.time.Instant;

/**
 * A line in the ledger: what a payment or a refund did to the merchant's balance.
 *
 * @param merchant whose balance
 * @param reference of the payment
 * @param payment the payment's id, also for a refund of it
 * @param type the event that was booked
 * @param amount in the currency's minor units; below zero for a refund
 * @param bookedAt to the millisecond, by the database's clock
 */
record LedgerEntry(
        String merchant,
        String reference,
        String payment,
        String type,
        long amount,
        String currency,
        Instant bookedAt) {}
