// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import javax.sql.DataSource;
import org.idemkey.messaging.Outbox;

/** Payments in PostgreSQL, in plain JDBC. Thread-safe. */
final class PaymentStore {

    static final int MAX_LISTED = 1000;

    private static final String COLUMNS = "id, merchant, amount, currency, reference, charge_id, created_at";

    private final DataSource dataSource;

    PaymentStore(DataSource dataSource) {
        this.dataSource = dataSource;
    }

    /** What must hold at the moment of the commit; throws if it doesn't. */
    @FunctionalInterface
    interface Condition {

        Condition NONE = connection -> {};

        void require(Connection connection) throws SQLException;
    }

    /**
     * Records a payment, gives it its time, and announces it, in one transaction with a condition.
     *
     * @throws SQLException with SQLSTATE 08007 if nobody knows whether it was recorded; otherwise it wasn't
     */
    Payment add(String id, String merchant, PaymentOrder order, String chargeId, Condition condition)
            throws SQLException {
        try (Connection connection = dataSource.getConnection()) {
            connection.setAutoCommit(false);
            condition.require(connection);
            Payment payment = insert(connection, id, merchant, order, chargeId);
            Outbox.append(connection, PaymentEvents.paid(payment));
            Database.commit(connection, "payment");
            return payment;
        }
    }

    private static Payment insert(
            Connection connection, String id, String merchant, PaymentOrder order, String chargeId)
            throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement("""
                INSERT INTO payment (id, merchant, amount, currency, reference, charge_id, created_at)
                VALUES (?, ?, ?, ?, ?, ?, date_trunc('milliseconds', now()))
                RETURNING\s""" + COLUMNS)) {
            insert.setString(1, id);
            insert.setString(2, merchant);
            insert.setLong(3, order.amount());
            insert.setString(4, order.currency());
            insert.setString(5, order.reference());
            insert.setString(6, chargeId);
            try (ResultSet row = insert.executeQuery()) {
                row.next();
                return payment(row);
            }
        }
    }

    /** A payment whose row stays locked until the transaction's end: whoever has it is alone with its refunds. */
    static Optional<Payment> lock(Connection connection, String merchant, String id) throws SQLException {
        try (PreparedStatement select = connection.prepareStatement(
                "SELECT " + COLUMNS + " FROM payment WHERE merchant = ? AND id = ? FOR NO KEY UPDATE")) {
            select.setString(1, merchant);
            select.setString(2, id);
            try (ResultSet row = select.executeQuery()) {
                return row.next() ? Optional.of(payment(row)) : Optional.empty();
            }
        }
    }

    Optional<Payment> find(String merchant, String id) throws SQLException {
        List<Payment> found = select("id = ?", merchant, id);
        return found.isEmpty() ? Optional.empty() : Optional.of(found.get(0));
    }

    List<Payment> list(String merchant, String reference) throws SQLException {
        return select("reference = ?", merchant, reference);
    }

    private List<Payment> select(String condition, String merchant, String value) throws SQLException {
        try (Connection connection = dataSource.getConnection();
                PreparedStatement select = connection.prepareStatement("SELECT " + COLUMNS
                        + " FROM payment WHERE merchant = ? AND " + condition + " ORDER BY created_at, id LIMIT "
                        + MAX_LISTED)) {
            select.setString(1, merchant);
            select.setString(2, value);
            try (ResultSet row = select.executeQuery()) {
                List<Payment> payments = new ArrayList<>();
                while (row.next()) {
                    payments.add(payment(row));
                }
                return payments;
            }
        }
    }

    private static Payment payment(ResultSet row) throws SQLException {
        return new Payment(
                row.getString("id"),
                row.getString("merchant"),
                row.getLong("amount"),
                row.getString("currency"),
                row.getString("reference"),
                row.getString("charge_id"),
                row.getObject("created_at", OffsetDateTime.class).toInstant());
    }
}
