// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import static java.util.Objects.requireNonNull;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import javax.sql.DataSource;
import org.idemkey.IdempotencyStoreException;
import org.idemkey.postgres.ExpiryCleaner;

/**
 * What an {@link ExpiryCleaner} needs to clean the messages' tables as it cleans the keys' table: in small batches,
 * passing by what somebody else holds. By the database's clock.
 */
public final class MessagingRetention {

    private static final String PUBLISHED = """
            WITH doomed AS MATERIALIZED (
                SELECT id FROM outbox
                WHERE published_at <= now() - ? * interval '1 millisecond'
                ORDER BY published_at LIMIT ? FOR UPDATE SKIP LOCKED
            )
            DELETE FROM outbox USING doomed WHERE outbox.id = doomed.id
            """;

    private static final String PROCESSED = """
            WITH doomed AS MATERIALIZED (
                SELECT consumer_name, message_key FROM processed_message
                WHERE processed_at <= now() - ? * interval '1 millisecond'
                ORDER BY processed_at LIMIT ? FOR UPDATE SKIP LOCKED
            )
            DELETE FROM processed_message AS m USING doomed AS d
            WHERE m.consumer_name = d.consumer_name AND m.message_key = d.message_key
            """;

    private MessagingRetention() {}

    /**
     * Removes events from the outbox that were published that long ago. One that isn't published is never removed.
     *
     * @param retention 0 or more; what was published need not be kept, unless to look things up
     */
    public static ExpiryCleaner.Purge publishedEvents(DataSource dataSource, Duration retention) {
        return purge(dataSource, PUBLISHED, "the outbox", retention);
    }

    /**
     * Forgets messages that were processed that long ago. Delivered again after that, a message has its effect a second
     * time.
     *
     * @param retention 1 ms or more; must be longer than the broker can deliver a message again, which includes the
     *     topic's retention if anybody may ever replay it from the beginning
     */
    public static ExpiryCleaner.Purge processedMessages(DataSource dataSource, Duration retention) {
        if (retention.compareTo(Duration.ofMillis(1)) < 0) {
            throw new IllegalArgumentException("retention must be 1 ms or more");
        }
        return purge(dataSource, PROCESSED, "processed messages", retention);
    }

    private static ExpiryCleaner.Purge purge(DataSource dataSource, String sql, String what, Duration retention) {
        requireNonNull(dataSource, "dataSource");
        if (retention.isNegative()) {
            throw new IllegalArgumentException("retention must be 0 or more");
        }
        long millis = retention.toMillis();
        return limit -> {
            try {
                return Transactions.<Integer, RuntimeException>run(dataSource, connection -> {
                    try (PreparedStatement statement = connection.prepareStatement(sql)) {
                        statement.setLong(1, millis);
                        statement.setInt(2, limit);
                        return statement.executeUpdate();
                    }
                });
            } catch (SQLException e) {
                throw new IdempotencyStoreException(
                        what + " could not be cleaned (SQLSTATE " + e.getSQLState() + ")", e);
            }
        };
    }
}
