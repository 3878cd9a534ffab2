// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.UUID;
import javax.sql.DataSource;

/**
 * A gateway in this process that behaves as one far away: it keeps its books in the table {@code gateway_charge}, in
 * transactions of its own on connections of its own, and honours the key it is given. Thread-safe.
 *
 * <table>
 * <caption>Sources</caption>
 * <tr><td>{@code tok_visa}</td><td>is charged</td></tr>
 * <tr><td>{@code tok_declined}</td><td>declines</td></tr>
 * <tr><td>{@code tok_slow}</td><td>is charged, but the answer takes its time; a repetition's doesn't</td></tr>
 * <tr><td>{@code tok_gateway_error}</td><td>makes the gateway fail before it has charged anything</td></tr>
 * </table>
 */
final class SimulatedGateway implements PaymentGateway {

    /** What passes between a slow charge and its answer. */
    @FunctionalInterface
    interface Delay {
        void pass() throws InterruptedException;
    }

    private final DataSource books;
    private final Delay slowness;

    /**
     * A gateway.
     *
     * @param books the database with its books; never the pool, nor the transaction, of the payments
     * @param slowness what {@code tok_slow} waits for; no connection is held meanwhile
     */
    SimulatedGateway(DataSource books, Delay slowness) {
        this.books = books;
        this.slowness = slowness;
    }

    @Override
    public Outcome charge(String key, PaymentOrder order) throws GatewayException {
        return switch (order.source()) {
            case "tok_visa" -> new Charged(book(key, order).id());
            case "tok_slow" -> {
                Booking booking = book(key, order);
                if (booking.isNew()) {
                    dawdle();
                }
                yield new Charged(booking.id());
            }
            case "tok_declined" -> new Declined("The card was declined.");
            case "tok_gateway_error" -> throw new GatewayException("the gateway is broken");
            default -> new UnknownSource();
        };
    }

    private record Booking(String id, boolean isNew) {}

    private Booking book(String key, PaymentOrder order) throws GatewayException {
        String id = "ch_" + UUID.randomUUID();
        // Auto-commit: the charge stands from here on, whatever becomes of the payment.
        try (Connection connection = books.getConnection()) {
            if (insert(connection, key, id, order)) {
                return new Booking(id, true);
            }
            return new Booking(find(connection, key, order), false);
        } catch (SQLException e) {
            throw new GatewayException("the gateway can't reach its books", e);
        }
    }

    private static boolean insert(Connection connection, String key, String id, PaymentOrder order)
            throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement("""
                INSERT INTO gateway_charge (charge_key, id, amount, currency, source, reference)
                VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (charge_key) DO NOTHING""")) {
            insert.setString(1, key);
            insert.setString(2, id);
            insert.setLong(3, order.amount());
            insert.setString(4, order.currency());
            insert.setString(5, order.source());
            insert.setString(6, order.reference());
            return insert.executeUpdate() == 1;
        }
    }

    private static String find(Connection connection, String key, PaymentOrder order)
            throws SQLException, GatewayException {
        try (PreparedStatement select = connection.prepareStatement(
                "SELECT id, amount, currency, source, reference FROM gateway_charge WHERE charge_key = ?")) {
            select.setString(1, key);
            try (ResultSet row = select.executeQuery()) {
                // Charges are never deleted, so the one in the way is there.
                if (row.next()
                        && new PaymentOrder(
                                        row.getLong("amount"),
                                        row.getString("currency"),
                                        row.getString("source"),
                                        row.getString("reference"))
                                .equals(order)) {
                    return row.getString("id");
                }
                throw new GatewayException("the key belongs to another charge");
            }
        }
    }

    private void dawdle() throws GatewayException {
        try {
            slowness.pass();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new GatewayException("interrupted while the gateway was about to answer", e);
        }
    }
}
