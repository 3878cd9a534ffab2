// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import static java.util.Objects.requireNonNull;

import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.List;
import java.util.function.Function;

/**
 * Writes events into the table {@code outbox}, within the transaction that they tell of: they exist if and only if it
 * is committed. Sending them is the business of an {@link OutboxRelay}, or of change data capture.
 */
public final class Outbox {

    /** The channel on which {@link #wakeRelays} notifies. */
    static final String CHANNEL = "idemkey_outbox";

    /**
     * Locks the aggregates, then draws positions: two statements, since the order of these two steps is the point, and
     * one round trip. In the order of their hashes, so that two lists of events never wait for each other.
     */
    private static final String APPEND = """
            SELECT pg_advisory_xact_lock(aggregate)
            FROM (
                SELECT DISTINCT hashtextextended(type || chr(31) || id, 0) AS aggregate
                FROM unnest(?::text[], ?::text[]) AS event (type, id)
                ORDER BY aggregate
            ) AS aggregates;
            INSERT INTO outbox (id, aggregate_type, aggregate_id, event_type, payload)
            SELECT id, aggregate_type, aggregate_id, event_type, payload::jsonb
            FROM unnest(?::uuid[], ?::text[], ?::text[], ?::text[], ?::text[]) WITH ORDINALITY
                AS event (id, aggregate_type, aggregate_id, event_type, payload, turn)
            ORDER BY turn
            """;

    private Outbox() {}

    /** Appends one event; see {@link #append(Connection, List)}. */
    public static void append(Connection connection, OutboxEvent event) throws SQLException {
        append(connection, List.of(event));
    }

    /**
     * Appends events in their order, in the caller's transaction, which the caller commits or rolls back.
     *
     * <p>From here to the end of that transaction nobody else can append to the same aggregates; others wait. So the
     * order of events of one aggregate is the order in which their transactions were committed, even where no row of
     * the business tables is locked. Append late in the transaction, and events of several aggregates together: two
     * transactions that append to the same two aggregates one by one, in opposite order, deadlock, and PostgreSQL ends
     * one of them.
     *
     * @throws IllegalStateException if the connection is in auto-commit mode
     * @throws SQLException if the database refuses, for instance because a payload isn't JSON or an id isn't new; the
     *     transaction is spoilt then
     */
    public static void append(Connection connection, List<OutboxEvent> events) throws SQLException {
        Transactions.requireOpen(connection);
        if (requireNonNull(events, "events").isEmpty()) {
            return;
        }
        try (PreparedStatement statement = connection.prepareStatement(APPEND)) {
            Array types = texts(connection, events, OutboxEvent::aggregateType);
            Array ids = texts(connection, events, OutboxEvent::aggregateId);
            statement.setArray(1, types);
            statement.setArray(2, ids);
            statement.setArray(3, connection.createArrayOf("uuid", column(events, OutboxEvent::id)));
            statement.setArray(4, types);
            statement.setArray(5, ids);
            statement.setArray(6, texts(connection, events, OutboxEvent::eventType));
            statement.setArray(7, texts(connection, events, OutboxEvent::payload));
            statement.execute();
        }
    }

    /**
     * Wakes the relays that listen, in whatever process, once the caller's transaction is committed. Without it they
     * look by themselves at every poll interval; in the same process, {@link OutboxRelay#wake()} does the same.
     *
     * <p>Think before you call it in every transaction: PostgreSQL lets transactions that notify commit one at a time.
     */
    public static void wakeRelays(Connection connection) throws SQLException {
        Transactions.requireOpen(connection);
        try (PreparedStatement statement = connection.prepareStatement("SELECT pg_notify(?, '')")) {
            statement.setString(1, CHANNEL);
            statement.execute();
        }
    }

    private static Array texts(Connection connection, List<OutboxEvent> events, Function<OutboxEvent, String> column)
            throws SQLException {
        return connection.createArrayOf("text", column(events, column));
    }

    private static Object[] column(List<OutboxEvent> events, Function<OutboxEvent, ?> column) {
        return events.stream().map(column).toArray();
    }
}
