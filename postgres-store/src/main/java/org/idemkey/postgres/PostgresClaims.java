// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.UUID;
import javax.sql.DataSource;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStoreException;
import org.idemkey.Scope;
import org.jspecify.annotations.Nullable;

/**
 * For operators: looks keys up, finds claims that are in flight for too long, and frees them. Thread-safe.
 *
 * <p>A claim of the same-transaction mode is not seen while it is in flight, and none of that mode can get stuck.
 */
public final class PostgresClaims {

    private static final String SELECT =
            "SELECT scope, key, claim_token, attempt, confirmed, response_code, created_at,"
                    + " lease_until, expires_at, CASE WHEN expires_at <= now() THEN 'EXPIRED'"
                    + " WHEN response_code IS NOT NULL THEN 'COMPLETED' WHEN lease_until > now() THEN 'IN_FLIGHT'"
                    + " WHEN joined AND NOT confirmed THEN 'ABANDONED' ELSE 'OUTCOME_UNKNOWN' END AS state FROM ";

    private final Jdbc jdbc;
    private final KeyTable table;
    private final String find;
    private final String inFlight;

    private PostgresClaims(DataSource dataSource, TableName name) {
        jdbc = new Jdbc(dataSource);
        table = new KeyTable(name, Duration.ofSeconds(5));
        find = SELECT + name.sql() + " WHERE scope = ? AND key = ?";
        inFlight = SELECT + name.sql() + " WHERE response_code IS NULL AND expires_at > now()"
                + " AND created_at <= now() - ? * interval '1 millisecond' ORDER BY created_at LIMIT ?";
    }

    /** Over the table {@code idempotency_key}. */
    public static PostgresClaims of(DataSource dataSource) {
        return new PostgresClaims(dataSource, TableName.DEFAULT);
    }

    /**
     * Over a table of another name.
     *
     * @param table {@code table} or {@code schema.table}, in lower case
     * @throws IllegalArgumentException if that is no such name
     */
    public static PostgresClaims of(DataSource dataSource, String table) {
        return new PostgresClaims(dataSource, TableName.of(table));
    }

    /**
     * What the table knows about a key; empty if nothing.
     *
     * @throws IdempotencyStoreException if the database is away
     */
    public Optional<KeyState> find(IdempotencyKey key) {
        try {
            return jdbc.call(connection -> find(connection, key));
        } catch (SQLException e) {
            throw Jdbc.failure("key " + key + " could not be looked up", e);
        }
    }

    private Optional<KeyState> find(Connection connection, IdempotencyKey key) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(find)) {
            statement.setString(1, key.scope().value());
            statement.setString(2, key.value());
            return read(statement).stream().findFirst();
        }
    }

    /**
     * Claims that are not finished, whether their lease is live or has lapsed, the oldest first.
     *
     * <p>Reads the whole table: no index is kept for a question that is asked so rarely.
     *
     * @param age how long ago the claim was made, at least; 0 or more
     * @param limit how many at most, 1 or more
     * @throws IdempotencyStoreException if the database is away
     */
    public List<KeyState> inFlightFor(Duration age, int limit) {
        if (age.isNegative() || limit < 1) {
            throw new IllegalArgumentException("age must be 0 or more, limit 1 or more: " + age + ", " + limit);
        }
        try {
            return jdbc.call(connection -> inFlightFor(connection, age, limit));
        } catch (SQLException e) {
            throw Jdbc.failure("claims in flight could not be looked up", e);
        }
    }

    private List<KeyState> inFlightFor(Connection connection, Duration age, int limit) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(inFlight)) {
            statement.setLong(1, age.toMillis());
            statement.setInt(2, limit);
            return read(statement);
        }
    }

    /**
     * Frees a key, if the claim given is still its current one and unfinished. An explicit act: the next request with
     * this key <em>runs</em>. If the outcome is unknown, or the owner is alive and still at it, that may be the second
     * time, so look into the application's own books first. An owner that is still at it can record nothing any more.
     *
     * @param token the claim's, as {@link #find} has told it, so that nobody frees another claim than the one looked at
     * @return whether it was freed; if not, nothing has changed
     * @throws IdempotencyStoreException if the database is away
     */
    public boolean release(IdempotencyKey key, UUID token) {
        try {
            return jdbc.call(connection -> table.release(connection, key, token));
        } catch (SQLException e) {
            throw Jdbc.failure("key " + key + " could not be released", e);
        }
    }

    private static List<KeyState> read(PreparedStatement statement) throws SQLException {
        List<KeyState> states = new ArrayList<>();
        try (ResultSet row = statement.executeQuery()) {
            while (row.next()) {
                boolean finished = row.getObject("response_code") != null;
                states.add(new KeyState(
                        new IdempotencyKey(new Scope(row.getString("scope")), row.getString("key")),
                        row.getObject("claim_token", UUID.class),
                        State.valueOf(row.getString("state")),
                        row.getInt("attempt"),
                        row.getBoolean("confirmed"),
                        finished ? OptionalInt.of(row.getInt("response_code")) : OptionalInt.empty(),
                        row.getObject("created_at", OffsetDateTime.class).toInstant(),
                        Optional.ofNullable(instant(row.getObject("lease_until", OffsetDateTime.class))),
                        row.getObject("expires_at", OffsetDateTime.class).toInstant()));
            }
        }
        return states;
    }

    private static @Nullable Instant instant(@Nullable OffsetDateTime time) {
        return time == null ? null : time.toInstant();
    }

    /** What a request with the key would find. */
    public enum State {
        /** An owner is at it, or was a moment ago. */
        IN_FLIGHT,
        /** The owner fell silent, and nobody knows what it did. */
        OUTCOME_UNKNOWN,
        /** The owner fell silent, and has certainly left nothing behind: the next request runs. */
        ABANDONED,
        /** It has run. */
        COMPLETED,
        /** The key is free, though its row is still there. */
        EXPIRED
    }

    /**
     * A key as the table has it. Instants are the database's; compare them with each other, not with the process's clock.
     *
     * @param token names the current claim
     * @param attempt how often the handler may have started
     * @param effectConfirmed whether the owner's business transaction left its mark, so that the effect did happen
     * @param status of the recorded response; empty while there is none
     * @param claimedAt when the current claim was made
     * @param leaseUntil when a sign of life is due; empty where none is
     * @param expiresAt when the key is free again
     */
    public record KeyState(
            IdempotencyKey key,
            UUID token,
            State state,
            int attempt,
            boolean effectConfirmed,
            OptionalInt status,
            Instant claimedAt,
            Optional<Instant> leaseUntil,
            Instant expiresAt) {}
}
