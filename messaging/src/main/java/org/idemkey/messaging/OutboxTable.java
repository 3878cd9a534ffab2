// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.UUID;

/**
 * The relay's statements. Its one rule: the lock on an aggregate's first unpublished event is the lock on the
 * aggregate, so whoever holds it may publish that event and what follows, and nobody else may.
 */
final class OutboxTable {

    /**
     * Looks at the first unpublished events, tries to lock the first one of each aggregate among them, and reads what
     * the aggregates that it got have there.
     *
     * <p>One snapshot for all of it is enough. A head that another relay has published and committed since then is
     * looked at again before it is locked, and dropped; one that is still unpublished has nothing published behind it.
     * That looking again is what READ COMMITTED does; a stricter level fails instead. So it is asked for here, by the
     * statement that opens the transaction, whatever the pool's default is.
     *
     * <p>The positions go from step to step as arrays, so that each step is a look-up in the small partial index,
     * whatever the planner believes about the table.
     */
    private static final String FETCH = """
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
            WITH waiting AS MATERIALIZED (
                SELECT position, aggregate_type, aggregate_id,
                    row_number() OVER (PARTITION BY aggregate_type, aggregate_id ORDER BY position) AS turn
                FROM (
                    SELECT position, aggregate_type, aggregate_id
                    FROM outbox
                    WHERE published_at IS NULL
                      AND (aggregate_type, aggregate_id) NOT IN (SELECT * FROM unnest(?::text[], ?::text[]))
                    ORDER BY position
                    LIMIT ?
                ) AS nearest
            ), ours AS MATERIALIZED (
                SELECT aggregate_type, aggregate_id
                FROM outbox
                WHERE published_at IS NULL
                  AND position = ANY (ARRAY(SELECT position FROM waiting WHERE turn = 1))
                ORDER BY position
                LIMIT (
                    SELECT ceil(?::numeric * count(*) FILTER (WHERE turn = 1) / nullif(count(*), 0))
                    FROM waiting WHERE turn <= ?
                )
                FOR UPDATE SKIP LOCKED
            )
            SELECT ahead.count, event.*
            FROM (SELECT count(*) FROM waiting) AS ahead
            LEFT JOIN (
                SELECT position, id, aggregate_type, aggregate_id, event_type, payload::text
                FROM outbox
                WHERE published_at IS NULL
                  AND position = ANY (ARRAY(
                    SELECT position FROM waiting JOIN ours USING (aggregate_type, aggregate_id)
                    WHERE turn <= ?
                    ORDER BY position
                    LIMIT ?
                  ))
            ) AS event ON true
            ORDER BY event.position
            """;

    private static final String MARK = "UPDATE outbox SET published_at = clock_timestamp() WHERE id = ANY (?::uuid[])";

    private OutboxTable() {}

    /**
     * What a fetch found.
     *
     * @param events in their order; from each aggregate in a row, beginning with its first unpublished one
     * @param seen how many unpublished events it looked at
     */
    record Fetched(List<OutboxEvent> events, int seen) {}

    /**
     * Fetches events of aggregates that nobody else is publishing, and locks those aggregates until the transaction ends.
     *
     * @param window how many unpublished events to look at, the first ones
     * @param limit how many to fetch at most
     * @param share how many of one aggregate at most
     * @param without aggregates to pass over
     */
    static Fetched fetch(Connection connection, int window, int limit, int share, Collection<Aggregate> without)
            throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(FETCH)) {
            statement.setArray(
                    1, texts(connection, without.stream().map(Aggregate::type).toArray()));
            statement.setArray(
                    2, texts(connection, without.stream().map(Aggregate::id).toArray()));
            statement.setInt(3, window);
            // How many aggregates make up about a batch: locking more would keep other relays from them.
            statement.setInt(4, limit);
            statement.setInt(5, share);
            statement.setInt(6, share);
            statement.setInt(7, limit);
            statement.execute();
            // The first result is that of SET.
            statement.getMoreResults();
            try (ResultSet rows = Objects.requireNonNull(statement.getResultSet())) {
                return read(rows);
            }
        }
    }

    private static Fetched read(ResultSet rows) throws SQLException {
        List<OutboxEvent> events = new ArrayList<>();
        int seen = 0;
        while (rows.next()) {
            seen = rows.getInt("count");
            UUID id = rows.getObject("id", UUID.class);
            if (id != null) {
                events.add(new OutboxEvent(
                        id,
                        rows.getString("aggregate_type"),
                        rows.getString("aggregate_id"),
                        rows.getString("event_type"),
                        rows.getString("payload")));
            }
        }
        return new Fetched(events, seen);
    }

    /** Marks events as published. */
    static void mark(Connection connection, List<OutboxEvent> events) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(MARK)) {
            Object[] ids = events.stream().map(OutboxEvent::id).toArray();
            statement.setArray(1, connection.createArrayOf("uuid", ids));
            statement.executeUpdate();
        }
    }

    private static Array texts(Connection connection, Object[] values) throws SQLException {
        return connection.createArrayOf("text", values);
    }
}
