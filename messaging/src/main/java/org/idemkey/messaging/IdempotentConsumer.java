// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import static java.util.Objects.requireNonNull;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Savepoint;
import javax.sql.DataSource;

/**
 * Lets each message have its effect once, however often and to however many instances it is delivered: the message's
 * key goes into {@code processed_message} in the transaction of the effect, and its primary key decides who is first.
 *
 * <p>That holds for effects in this database. Consumers of different names are independent of each other. Instances of
 * one consumer that get a message at once wait for the first of them, and then skip. Thread-safe.
 */
public final class IdempotentConsumer {

    private static final String INSERT =
            "INSERT INTO processed_message (consumer_name, message_key) VALUES (?, ?) ON CONFLICT DO NOTHING";

    private final String name;

    /**
     * A consumer.
     *
     * @param name what all its instances, now and after the next deployment, are called; 1 to 100 characters
     */
    public IdempotentConsumer(String name) {
        this.name = Lengths.require(name, 100, "name");
    }

    /** What became of a message. */
    public enum Outcome {
        /** The action has run. Its effect is real once the transaction is committed. */
        PROCESSED,
        /** The message had been processed before; the action has not run. */
        DUPLICATE
    }

    /**
     * The effect of a message.
     *
     * @param <E> what it may throw besides {@link SQLException}
     */
    @FunctionalInterface
    public interface Action<E extends Exception> {

        /** Has its effect through this connection, without ending the transaction. */
        void run(Connection connection) throws SQLException, E;
    }

    /**
     * Processes a message in a transaction of its own, committed on return. If the action throws, nothing of it stays
     * and the message counts as not processed.
     *
     * <p>Acknowledge the message to the broker after the return, never before. Within a transaction that somebody else
     * has begun, such as Spring's, use {@link #consume(Connection, String, Action)}.
     *
     * @param messageKey tells the message from all others to this consumer; 1 to 200 characters
     * @throws SQLException if the database can't be reached or refuses. If the commit's answer was lost, the message may
     *     have been processed; deliver it again, and find out
     * @throws E if the action does
     */
    public <E extends Exception> Outcome consume(DataSource dataSource, String messageKey, Action<E> action)
            throws SQLException, E {
        check(messageKey, action);
        return Transactions.<Outcome, E>run(dataSource, connection -> {
            if (!insert(connection, messageKey)) {
                return Outcome.DUPLICATE;
            }
            action.run(connection);
            return Outcome.PROCESSED;
        });
    }

    /**
     * Processes a message in the caller's transaction, which the caller commits. If the action throws, what it did and
     * the mark of the message are undone, back to a savepoint, so that a caller who commits in spite of it commits
     * neither; the transaction itself goes on.
     *
     * @param connection of a transaction that is open: not in auto-commit mode
     * @param messageKey tells the message from all others to this consumer; 1 to 200 characters
     * @throws IllegalStateException if the connection is in auto-commit mode
     * @throws SQLException if the database refuses. At the isolation levels above READ COMMITTED that is also how two
     *     instances at once end for the later one (SQLSTATE 40001): repeat the transaction
     * @throws E if the action does
     */
    public <E extends Exception> Outcome consume(Connection connection, String messageKey, Action<E> action)
            throws SQLException, E {
        check(messageKey, action);
        Transactions.requireOpen(connection);
        Savepoint before = connection.setSavepoint();
        Outcome outcome = Outcome.DUPLICATE;
        try {
            if (insert(connection, messageKey)) {
                action.run(connection);
                outcome = Outcome.PROCESSED;
            }
        } catch (Throwable e) {
            try {
                connection.rollback(before);
            } catch (SQLException more) {
                e.addSuppressed(more);
            }
            throw e;
        }
        connection.releaseSavepoint(before);
        return outcome;
    }

    private static void check(String messageKey, Action<?> action) {
        Lengths.require(messageKey, 200, "messageKey");
        requireNonNull(action, "action");
    }

    /** Waits for a rival that has not committed yet, and says whether we are the first. */
    private boolean insert(Connection connection, String messageKey) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(INSERT)) {
            statement.setString(1, name);
            statement.setString(2, messageKey);
            return statement.executeUpdate() == 1;
        }
    }
}
