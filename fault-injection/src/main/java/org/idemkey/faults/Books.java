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
 */
record Books(Map<String, List<Payment>> payments, Map<String, List<Long>> charges, Set<String> inFlight) {

    /** One row. */
    record Payment(String id, long amount) {}

    /** Reads the three tables as a superuser, past the service. */
    static Books read(Connection connection) throws SQLException {
        Map<String, List<Payment>> payments = new HashMap<>();
        Map<String, List<Long>> charges = new HashMap<>();
        Set<String> inFlight = new HashSet<>();
        try (Statement statement = connection.createStatement()) {
            try (ResultSet rows = statement.executeQuery("SELECT reference, id, amount FROM payment")) {
                while (rows.next()) {
                    payments.computeIfAbsent(rows.getString(1), reference -> new ArrayList<>())
                            .add(new Payment(rows.getString(2), rows.getLong(3)));
                }
            }
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
        }
        return new Books(payments, charges, inFlight);
    }

    List<Payment> paymentsOf(String reference) {
        return payments.getOrDefault(reference, List.of());
    }

    List<Long> chargesOf(String reference) {
        return charges.getOrDefault(reference, List.of());
    }
}
