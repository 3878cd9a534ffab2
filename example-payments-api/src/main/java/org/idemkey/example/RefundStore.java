// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import javax.sql.DataSource;
import org.idemkey.example.PaymentStore.Condition;
import org.idemkey.messaging.Outbox;

/** Refunds in PostgreSQL, in plain JDBC. Thread-safe. */
final class RefundStore {

    private static final String COLUMNS = "r.id, r.payment_id, r.amount, p.currency, r.created_at";

    private final DataSource dataSource;

    RefundStore(DataSource dataSource) {
        this.dataSource = dataSource;
    }

    /**
     * Records a refund, gives it its time, and announces it, in one transaction with a condition. Refunds of one payment
     * wait for each other, so that together they never exceed it.
     *
     * @throws ApiProblem if the merchant has no such payment, or less than the amount is left of it
     * @throws SQLException with SQLSTATE 08007 if nobody knows whether it was recorded; otherwise it wasn't
     */
    Refund add(String id, String merchant, RefundOrder order, Condition condition) throws SQLException {
        try (Connection connection = dataSource.getConnection()) {
            connection.setAutoCommit(false);
            condition.require(connection);
            Payment payment = PaymentStore.lock(connection, merchant, order.payment())
                    .orElseThrow(() -> ApiProblem.invalid(
                            List.of(new ApiProblem.FieldError("payment", RefundOrder.PAYMENT_RULE))));
            long left = payment.amount() - refunded(connection, payment.id());
            if (order.amount() > left) {
                throw ApiProblem.refundTooLarge(left);
            }
            Refund refund = insert(connection, id, order.amount(), payment);
            Outbox.append(connection, PaymentEvents.refunded(payment, refund));
            Database.commit(connection, "refund");
            return refund;
        }
    }

    /** In a statement of its own: the snapshot of the one that waited for the lock may be older than the last refund. */
    private static long refunded(Connection connection, String payment) throws SQLException {
        try (PreparedStatement select =
                connection.prepareStatement("SELECT coalesce(sum(amount), 0) FROM refund WHERE payment_id = ?")) {
            select.setString(1, payment);
            try (ResultSet row = select.executeQuery()) {
                row.next();
                return row.getLong(1);
            }
        }
    }

    private static Refund insert(Connection connection, String id, long amount, Payment payment) throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement("""
                INSERT INTO refund (id, payment_id, amount, created_at)
                VALUES (?, ?, ?, date_trunc('milliseconds', now()))
                RETURNING created_at""")) {
            insert.setString(1, id);
            insert.setString(2, payment.id());
            insert.setLong(3, amount);
            try (ResultSet row = insert.executeQuery()) {
                row.next();
                Instant createdAt = row.getObject(1, OffsetDateTime.class).toInstant();
                return new Refund(id, payment.id(), amount, payment.currency(), createdAt);
            }
        }
    }

    Optional<Refund> find(String merchant, String id) throws SQLException {
        List<Refund> found = select("r.id = ?", merchant, id);
        return found.isEmpty() ? Optional.empty() : Optional.of(found.get(0));
    }

    List<Refund> list(String merchant, String payment) throws SQLException {
        return select("r.payment_id = ?", merchant, payment);
    }

    private List<Refund> select(String condition, String merchant, String value) throws SQLException {
        try (Connection connection = dataSource.getConnection();
                PreparedStatement select = connection.prepareStatement("SELECT " + COLUMNS
                        + " FROM refund r JOIN payment p ON p.id = r.payment_id WHERE p.merchant = ? AND " + condition
                        + " ORDER BY r.created_at, r.id LIMIT " + PaymentStore.MAX_LISTED)) {
            select.setString(1, merchant);
            select.setString(2, value);
            try (ResultSet row = select.executeQuery()) {
                List<Refund> refunds = new ArrayList<>();
                while (row.next()) {
                    refunds.add(refund(row));
                }
                return refunds;
            }
        }
    }

    private static Refund refund(ResultSet row) throws SQLException {
        return new Refund(
                row.getString(1),
                row.getString(2),
                row.getLong(3),
                row.getString(4),
                row.getObject(5, OffsetDateTime.class).toInstant());
    }
}
