// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What the tables say once everything has come to rest.
 *
 * @param payments by their reference
 * @param charges the gateway's own books, by their reference
 * @param inFlight keys that have a row without an answer
 * @param ledger what was booked, by the reference of the payment
 */
record Books(
        Map<String, List<Payment>> payments,
        Map<String, List<Long>> charges,
        Set<String> inFlight,
        Map<String, List<Payment>> ledger) {

    /** One row, of the payments or of the ledger, where it is the payment's id and the amount that was booked. */
    record Payment(String id, long amount) {}

    /** Both sides of the ledger. */
    record Balance(long payments, long paid, long entries, long booked) {

        @Override
        public String toString() {
            return payments + " payments of " + paid + " in sum, " + entries + " entries of " + booked + " in sum";
        }
    }

    /** Reads the four tables as a superuser, past the service. */
    static Books read(Connection connection) throws SQLException {
        Map<String, List<Long>> charges = new HashMap<>();
        Set<String> inFlight = new HashSet<>();
        try (Statement statement = connection.createStatement()) {
            try (ResultSet rows = statement.executeQuery("SELECT reference, amount FROM gateway_charge")) {
                while (rows.next()) {
                    charges.computeIfAbsent(rows.getString(1), reference -> new ArrayList<>())
                            .add(rows.getLong(2));
                }
            }
            try (ResultSet rows =
                    statement.executeQuery("SELECT key FROM idempotency_key WHERE response_code IS NULL")) {
                while (rows.next()) {
                    inFlight.add(rows.getString(1));
                }
            }
            return new Books(
                    payments(statement, "SELECT reference, id, amount FROM payment"),
                    charges,
                    inFlight,
                    payments(statement, "SELECT reference, payment, amount FROM ledger_entry"));
        }
    }

    private static Map<String, List<Payment>> payments(Statement statement, String query) throws SQLException {
        Map<String, List<Payment>> payments = new HashMap<>();
        try (ResultSet rows = statement.executeQuery(query)) {
            while (rows.next()) {
                payments.computeIfAbsent(rows.getString(1), reference -> new ArrayList<>())
                        .add(new Payment(rows.getString(2), rows.getLong(3)));
            }
        }
        return payments;
    }

    List<Payment> paymentsOf(String reference) {
        return payments.getOrDefault(reference, List.of());
    }

    List<Long> chargesOf(String reference) {
        return charges.getOrDefault(reference, List.of());
    }

    List<Payment> entriesOf(String reference) {
        return ledger.getOrDefault(reference, List.of());
    }

    Balance balance() {
        return new Balance(count(payments), sum(payments), count(ledger), sum(ledger));
    }

    private static long count(Map<String, List<Payment>> rows) {
        return rows.values().stream().mapToLong(List::size).sum();
    }

    private static long sum(Map<String, List<Payment>> rows) {
        return rows.values().stream()
                .flatMap(List::stream)
                .mapToLong(Payment::amount)
                .sum();
    }
}
