// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.UUID;
import java.util.concurrent.atomic.LongAdder;
import javax.sql.DataSource;

/** The application: a servlet that books a payment, with plain JDBC, and knows nothing of idempotency. */
final class Business extends HttpServlet {

    /** What the handlers write to. */
    static final String TABLES = """
            CREATE TABLE payment (id uuid PRIMARY KEY, body bytea NOT NULL, created_at timestamptz NOT NULL DEFAULT now());
            CREATE TABLE entry (payment uuid NOT NULL, amount bigint NOT NULL, created_at timestamptz NOT NULL DEFAULT now())
            """;

    private static final long serialVersionUID = 1L;

    private final transient Effect effect;
    private final LongAdder executions = new LongAdder();

    private Business(Effect effect) {
        this.effect = effect;
    }

    /** What a handler does to the database. */
    @FunctionalInterface
    private interface Effect {
        void happen(UUID id, byte[] body) throws SQLException;
    }

    /** Answers, and does nothing else. */
    static Business nothing() {
        return new Business((id, body) -> {});
    }

    /** Twin A: one insert, in the connection's own auto-commit. */
    static Business oneInsert(DataSource dataSource) {
        return new Business((id, body) -> {
            try (Connection connection = dataSource.getConnection()) {
                insertPayment(connection, id, body);
            }
        });
    }

    /** Twin B: two inserts in an explicit transaction. */
    static Business twoStatements(DataSource dataSource) {
        return new Business((id, body) -> {
            try (Connection connection = dataSource.getConnection()) {
                connection.setAutoCommit(false);
                try {
                    insertPayment(connection, id, body);
                    insertEntry(connection, id);
                    connection.commit();
                } catch (Throwable e) {
                    connection.rollback();
                    throw e;
                } finally {
                    connection.setAutoCommit(true);
                }
            }
        });
    }

    private static void insertPayment(Connection connection, UUID id, byte[] body) throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO payment (id, body) VALUES (?, ?)")) {
            insert.setObject(1, id);
            insert.setBytes(2, body);
            insert.executeUpdate();
        }
    }

    private static void insertEntry(Connection connection, UUID id) throws SQLException {
        try (PreparedStatement insert =
                connection.prepareStatement("INSERT INTO entry (payment, amount) VALUES (?, ?)")) {
            insert.setObject(1, id);
            insert.setLong(2, 1250);
            insert.executeUpdate();
        }
    }

    /** How often it has run to its end. */
    long executions() {
        return executions.sum();
    }

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
        byte[] body = request.getInputStream().readAllBytes();
        UUID id = UUID.randomUUID();
        try {
            effect.happen(id, body);
        } catch (SQLException e) {
            throw new IOException(e);
        }
        executions.increment();
        response.setStatus(HttpServletResponse.SC_CREATED);
        response.setHeader("Location", "/payments/" + id);
        response.setContentType("application/json");
        response.getOutputStream()
                .write(("{\"id\":\"" + id
                                + "\",\"status\":\"succeeded\",\"amount\":1250,\"currency\":\"EUR\",\"reference\":\"order-1001\"}")
                        .getBytes(StandardCharsets.UTF_8));
    }
}
