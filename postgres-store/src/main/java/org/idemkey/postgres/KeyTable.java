// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Stream;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.StoredResponse;
import org.idemkey.Terms;
import org.jspecify.annotations.Nullable;

/**
 * The key table through JDBC, a method for each statement of {@link KeySql}, for one key; {@link KeyBatches} has
 * those for many. Each is given a connection, and is a transaction of its own.
 */
final class KeyTable {

    private static final String BEGINNING = "-infinity";

    private final KeySql sql;
    private final String lockTimeout;

    /** Up to where a full batch has just removed what had expired. No more than a hint. */
    private volatile String purged = BEGINNING;

    KeyTable(TableName table, Duration lockTimeout) {
        sql = new KeySql(table);
        this.lockTimeout = Long.toString(lockTimeout.toMillis());
    }

    /**
     * A claim that is asked for. Its token is made beforehand, so that it can be asked for twice.
     *
     * @param joined whether a lapse of it means that nothing was committed
     */
    record Request(IdempotencyKey key, Fingerprint fingerprint, Terms terms, UUID token, boolean joined) {}

    /** What a look at a key has found: a row, which may be one that this look has just inserted. */
    record Seen(
            UUID token,
            String requestHash,
            int attempt,
            boolean joined,
            boolean confirmed,
            @Nullable StoredResponse response,
            boolean expired,
            Duration remaining) {

        boolean isLapsed() {
            return response == null && remaining.isZero();
        }

        /** Whether its owner fell silent, and neither committed anything nor ever will. */
        boolean leftNothing() {
            return isLapsed() && joined && !confirmed;
        }
    }

    /** A lease that is kept alive. */
    record Renewal(IdempotencyKey key, UUID token, Duration lease) {}

    /** Claims the key if there is no row, and answers the row; absent if it was there and couldn't be seen. */
    Optional<Seen> claim(Connection connection, Request request) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql.claim)) {
            int i = bindKey(statement, 1, request.key());
            i = bindKey(statement, i, request.key());
            i = bindClaim(statement, i, request);
            statement.setString(i, lockTimeout);
            return seen(statement);
        }
    }

    /** Looks again, at the row's latest version; absent if there is none. Fails at once if the row is locked. */
    Optional<Seen> look(Connection connection, IdempotencyKey key) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql.look)) {
            bindKey(statement, 1, key);
            return seen(statement);
        }
    }

    /** Claims an expired row, if its claim is still the one given; answers the attempt, which is 1. */
    OptionalInt claimExpired(Connection connection, Request request, UUID stale) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql.claimExpired)) {
            int i = bindClaim(statement, 1, request);
            i = bindClaimed(statement, i, request.key(), stale);
            statement.setString(i, lockTimeout);
            return attempt(statement);
        }
    }

    /** Claims a lapsed and unconfirmed row of the same request, if its claim is still the one given. */
    OptionalInt claimLapsed(Connection connection, Request request, UUID stale) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql.claimLapsed)) {
            int i = bindClaim(statement, 1, request);
            i = bindClaimed(statement, i, request.key(), stale);
            statement.setString(i, request.fingerprint().hex());
            statement.setString(i + 1, lockTimeout);
            return attempt(statement);
        }
    }

    /** Records the response, if the claim is still the one given and unfinished; answers whether it was. */
    boolean complete(Connection connection, IdempotencyKey key, UUID token, StoredResponse response)
            throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql.complete)) {
            int i = Rows.bindResponse(statement, 1, response);
            i = bindClaimed(statement, i, key, token);
            statement.setString(i, lockTimeout);
            return statement.executeUpdate() == 1;
        }
    }

    /** Whether this very claim has a response, so that an earlier try to record it did arrive. */
    boolean isRecorded(Connection connection, IdempotencyKey key, UUID token) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql.isRecorded)) {
            bindClaimed(statement, 1, key, token);
            try (ResultSet row = statement.executeQuery()) {
                return row.next();
            }
        }
    }

    /** Deletes the row, if its claim is still the one given and unfinished; answers whether it was. */
    boolean release(Connection connection, IdempotencyKey key, UUID token) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql.release)) {
            int i = bindClaimed(statement, 1, key, token);
            statement.setString(i, lockTimeout);
            return statement.executeUpdate() == 1;
        }
    }

    /** Leaves the mark of a business transaction, if the claim is still the one given and unfinished. */
    boolean confirm(Connection connection, IdempotencyKey key, UUID token) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql.confirm)) {
            bindClaimed(statement, 1, key, token);
            return statement.executeUpdate() == 1;
        }
    }

    /** Renews all of these that are still claims, and answers the tokens of those that are. */
    Set<UUID> renew(Connection connection, Collection<Renewal> renewals) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql.renew)) {
            statement.setArray(
                    1,
                    array(
                            connection,
                            "text",
                            renewals.stream().map(r -> r.key().scope().value())));
            statement.setArray(
                    2,
                    array(connection, "text", renewals.stream().map(r -> r.key().value())));
            statement.setArray(3, array(connection, "uuid", renewals.stream().map(Renewal::token)));
            statement.setArray(
                    4,
                    array(
                            connection,
                            "bigint",
                            renewals.stream().map(r -> r.lease().toMillis())));
            Set<UUID> held = new HashSet<>();
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    held.add(rows.getObject(1, UUID.class));
                }
            }
            return held;
        }
    }

    /** Deletes expired rows, the oldest first, and answers how many. Rows that are locked are left for next time. */
    int purge(Connection connection, int limit) throws SQLException {
        String begin = purged;
        int removed = purge(connection, begin, limit);
        if (removed < limit && !begin.equals(BEGINNING)) {
            // What was locked then may be had now, and who has expired may be older than all that has gone.
            removed += purge(connection, BEGINNING, limit - removed);
        }
        return removed;
    }

    private int purge(Connection connection, String begin, int limit) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql.purge)) {
            statement.setString(1, begin);
            statement.setInt(2, limit);
            try (ResultSet gone = statement.executeQuery()) {
                gone.next();
                int removed = gone.getInt(1);
                String last = gone.getString(2);
                purged = removed < limit || last == null ? BEGINNING : last;
                return removed;
            }
        }
    }

    private static int bindKey(PreparedStatement statement, int i, IdempotencyKey key) throws SQLException {
        statement.setString(i, key.scope().value());
        statement.setString(i + 1, key.value());
        return i + 2;
    }

    private static int bindClaimed(PreparedStatement statement, int i, IdempotencyKey key, UUID token)
            throws SQLException {
        int next = bindKey(statement, i, key);
        statement.setObject(next, token);
        return next + 1;
    }

    private static int bindClaim(PreparedStatement statement, int i, Request request) throws SQLException {
        statement.setString(i, request.fingerprint().hex());
        statement.setObject(i + 1, request.token());
        statement.setBoolean(i + 2, request.joined());
        statement.setLong(i + 3, request.terms().lease().toMillis());
        statement.setLong(i + 4, request.terms().retention().toMillis());
        return i + 5;
    }

    private static Array array(Connection connection, String type, Stream<?> values) throws SQLException {
        return connection.createArrayOf(type, values.toArray());
    }

    private static OptionalInt attempt(PreparedStatement statement) throws SQLException {
        try (ResultSet row = statement.executeQuery()) {
            return row.next() ? OptionalInt.of(row.getInt(1)) : OptionalInt.empty();
        }
    }

    private static Optional<Seen> seen(PreparedStatement statement) throws SQLException {
        try (ResultSet row = statement.executeQuery()) {
            return row.next() ? Optional.of(read(row)) : Optional.empty();
        }
    }

    /** Reads the current row's columns, by the names that {@link KeySql#SEEN} gives them. */
    static Seen read(ResultSet row) throws SQLException {
        boolean finished = row.getObject("response_code") != null;
        return new Seen(
                row.getObject("claim_token", UUID.class),
                row.getString("request_hash"),
                row.getInt("attempt"),
                row.getBoolean("joined"),
                row.getBoolean("confirmed"),
                finished ? Rows.readResponse(row) : null,
                row.getBoolean("expired"),
                Duration.ofMillis(Math.max(0, row.getLong("remaining"))));
    }
}
