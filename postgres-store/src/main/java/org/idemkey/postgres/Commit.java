// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.locks.LockSupport;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore.Completion;
import org.idemkey.IdempotencyStoreException;
import org.idemkey.StoredResponse;

/**
 * The commit of a request's transaction, and how it ended: where the server's answer is missing, the claim's row is
 * looked up by its token on another connection, for nobody may guess.
 */
final class Commit {

    private static final System.Logger LOG = System.getLogger(Commit.class.getName());

    private static final String NO_SAVEPOINT = "3B001";
    private static final String UNIQUE_VIOLATION = "23505";

    private static final long FIRST_PAUSE = Duration.ofMillis(5).toNanos();
    private static final long LONGEST_PAUSE = Duration.ofMillis(250).toNanos();

    private final TransactionSql sql;
    private final Jdbc jdbc;
    private final Duration timeout;

    Commit(TransactionSql sql, Jdbc jdbc, Duration timeout) {
        this.sql = sql;
        this.jdbc = jdbc;
        this.timeout = timeout;
    }

    /** Records the response and commits. */
    Completion record(TransactionLease lease, StoredResponse response) {
        boolean[] begun = new boolean[1];
        try {
            Completion recorded = lease.transaction().commit(timeout, (connection, epilogue) -> {
                begun[0] = true;
                insist(connection, epilogue, lease.key(), start -> sql.record(connection, start, lease, response));
                return Completion.RECORDED;
            });
            return recorded == null ? Completion.LOST : recorded;
        } catch (SQLException e) {
            if (!begun[0] || (isRefusal(e) && !e.getSQLState().equals(UNIQUE_VIOLATION))) {
                throw Jdbc.failure("a response could not be recorded, and its handler's effects are undone", e);
            }
            return lookUp(lease, e);
        }
    }

    /** The last round trip of a transaction, to begin with the text given. */
    @FunctionalInterface
    interface LastWords {
        void say(String epilogue) throws SQLException;
    }

    /** Ends a transaction, also one that the handler has ended behind our back. */
    static void insist(Connection connection, String epilogue, IdempotencyKey key, LastWords words)
            throws SQLException {
        try {
            words.say(epilogue);
        } catch (SQLException e) {
            if (epilogue.isEmpty() || !NO_SAVEPOINT.equals(e.getSQLState())) {
                throw e;
            }
            // Its effects stand, so what protects them from a second execution is better late than never.
            LOG.log(
                    System.Logger.Level.WARNING,
                    "the handler of key {0} has ended the request''s transaction by itself: its effects and its"
                            + " response were not committed together",
                    key);
            connection.rollback();
            words.say("");
        }
    }

    /** Whether the server has said that it did not commit; anything else may have come too late to stop it. */
    static boolean isRefusal(SQLException e) {
        String state = e.getSQLState();
        return state != null
                && !state.equals("40003")
                && switch (state.substring(0, Math.min(2, state.length()))) {
                    case "22", "23", "25", "3B", "40", "42", "44", "54", "55", "P0" -> true;
                    default -> state.equals("57014");
                };
    }

    private Completion lookUp(TransactionLease lease, SQLException cause) {
        boolean refused = isRefusal(cause);
        long deadline = System.nanoTime() + timeout.toNanos();
        for (long pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
            try {
                TransactionSql.Trace trace = jdbc.call(connection -> sql.find(connection, lease));
                UUID token = trace.token();
                if (lease.token().equals(token)) {
                    return Completion.RECORDED;
                } else if (token != null && !trace.expired() && (refused || !token.equals(lease.replaced()))) {
                    // Somebody else's. What ours is to replace stands there until it commits, unless it was refused.
                    return Completion.LOST;
                } else if (refused) {
                    break;
                } else if (trace.over()) {
                    return Completion.LOST;
                }
                jdbc.call(connection -> sql.endIdle(connection, lease.backend()));
            } catch (SQLException e) {
                cause.addSuppressed(e);
            }
            if (System.nanoTime() - deadline >= 0) {
                break;
            }
            LockSupport.parkNanos(pause);
        }
        throw refused
                ? Jdbc.failure("a response could not be recorded, and its handler's effects are undone", cause)
                : new IdempotencyStoreException("how a commit ended could not be found out", cause);
    }
}
