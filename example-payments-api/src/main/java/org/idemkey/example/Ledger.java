// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;
import org.idemkey.messaging.IdempotentConsumer;
import tools.jackson.databind.JsonNode;

/**
 * The books: another service by right, that hears of payments by messages only, and here shares the process. Books each
 * message once, however often it comes. Thread-safe.
 */
final class Ledger {

    static final int MAX_LISTED = 1000;

    private final DataSource dataSource;
    private final IdempotentConsumer consumer = new IdempotentConsumer("ledger");

    Ledger(DataSource dataSource) {
        this.dataSource = dataSource;
    }

    /**
     * Books an event, unless it is booked.
     *
     * @param id the event's, which a repetition has too
     * @param payload as {@link PaymentEvents} writes it
     * @throws SQLException if it could not be booked, or nobody knows whether it was: let it come again
     */
    void book(String id, String type, String payload) throws SQLException {
        JsonNode event = Json.parse(payload);
        consumer.consume(dataSource, id, connection -> insert(connection, type, event));
    }

    /** No unique column stands behind it: what is booked twice has to show. */
    private static void insert(Connection connection, String type, JsonNode event) throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement("""
                INSERT INTO ledger_entry (merchant, reference, payment, type, amount, currency, booked_at)
                VALUES (?, ?, ?, ?, ?, ?, date_trunc('milliseconds', now()))""")) {
            insert.setString(1, event.path("merchant").stringValue());
            insert.setString(2, event.path("reference").stringValue());
            insert.setString(3, event.path("payment").stringValue());
            insert.setString(4, type);
            insert.setLong(5, event.path("amount").longValue());
            insert.setString(6, event.path("currency").stringValue());
            insert.executeUpdate();
        }
    }

    /** The merchant's entries for a reference, in the order of their booking, {@value #MAX_LISTED} at most. */
    List<LedgerEntry> list(String merchant, String reference) throws SQLException {
        try (Connection connection = dataSource.getConnection();
                PreparedStatement select = connection.prepareStatement("""
                        SELECT merchant, reference, payment, type, amount, currency, booked_at FROM ledger_entry
                        WHERE merchant = ? AND reference = ? ORDER BY id LIMIT\s""" + MAX_LISTED)) {
            select.setString(1, merchant);
            select.setString(2, reference);
            try (ResultSet row = select.executeQuery()) {
                List<LedgerEntry> entries = new ArrayList<>();
                while (row.next()) {
                    entries.add(new LedgerEntry(
                            row.getString("merchant"),
                            row.getString("reference"),
                            row.getString("payment"),
                            row.getString("type"),
                            row.getLong("amount"),
                            row.getString("currency"),
                            row.getObject("booked_at", OffsetDateTime.class).toInstant()));
                }
                return entries;
            }
        }
    }
}
