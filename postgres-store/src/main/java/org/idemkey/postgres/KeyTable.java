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
 * Every statement that the lease store sends for one key, one method each; {@link KeyBatches} has those for many. Rules
 * that all of them keep:
 *
 * <ul>
 *   <li>The database's {@code now()} is the only clock; parameters are durations, never instants.
 *   <li>A row is found by its primary key, and written only where its claim token is the one that was seen.
 *   <li>Waiting for another transaction's lock is bounded within the statement itself, as a transaction-pooling proxy
 *       has no session to set it for: {@code set_config(…, true)} lasts as long as the transaction. It stands among the
 *       conditions, so that it is evaluated before the row is locked.
 *   <li>One transaction for each statement: each look has a snapshot of its own.
 * </ul>
 */
final class KeyTable {

    private static final String BOUNDED = "set_config('lock_timeout', ?, true) IS NOT NULL";
    private static final String IN = "now() + ? * interval '1 millisecond'";
    /** What {@link #read} reads. */
    static final String SEEN = "claim_token, request_hash, attempt, joined, confirmed, response_code,"
            + " response_headers, response_body, expires_at <= now() AS expired,"
            + " ceil(extract(epoch FROM lease_until - now()) * 1000) AS remaining";

    private final String lockTimeout;
    private final String claim;
    private final String look;
    private final String claimExpired;
    private final String claimLapsed;
    private final String complete;
    private final String isRecorded;
    private final String release;
    private final String confirm;
    private final String renew;
    private final String purge;

    KeyTable(TableName table, Duration lockTimeout) {
        this.lockTimeout = Long.toString(lockTimeout.toMillis());
        String t = table.sql();

        // A new key and a replay take one round trip each, and a replay writes nothing. Neither row: the insert met one
        // that this snapshot can't see.
        claim = "WITH existing AS MATERIALIZED ("
                + "SELECT " + SEEN + " FROM " + t + " WHERE scope = ? AND key = ?"
                + "), claimed AS ("
                + "INSERT INTO " + t + " (scope, key, request_hash, claim_token, joined, lease_until, expires_at)"
                + " SELECT ?, ?, ?, ?, ?, " + IN + ", " + IN
                + " WHERE NOT EXISTS (SELECT FROM existing) AND " + BOUNDED
                + " ON CONFLICT (scope, key) DO NOTHING"
                + " RETURNING " + SEEN
                + ") SELECT * FROM existing UNION ALL SELECT * FROM claimed";

        // The latest version of the row, unless somebody holds it: a business transaction that confirms, for one.
        look = "SELECT " + SEEN + " FROM " + t + " WHERE scope = ? AND key = ? FOR SHARE NOWAIT";

        String newClaim = " SET request_hash = ?, claim_token = ?, joined = ?, lease_until = " + IN + ", expires_at = "
                + IN + ", created_at = now(), confirmed = false";
        String ofKey = " WHERE scope = ? AND key = ?";
        String ofClaim = ofKey + " AND claim_token = ?";

        claimExpired = "UPDATE " + t + newClaim
                + ", attempt = 1, response_code = NULL, response_headers = NULL, response_body = NULL"
                + ofClaim + " AND expires_at <= now() AND " + BOUNDED + " RETURNING attempt";
        claimLapsed = "UPDATE " + t + newClaim + ", attempt = attempt + 1"
                + ofClaim + " AND request_hash = ? AND response_code IS NULL AND NOT confirmed"
                + " AND lease_until <= now() AND expires_at > now() AND " + BOUNDED + " RETURNING attempt";

        // No column of these is indexed, so the new version stays on the row's own page.
        complete = "UPDATE " + t + " SET response_code = ?, response_headers = CAST(? AS jsonb), response_body = ?"
                + ofClaim + " AND response_code IS NULL AND " + BOUNDED;
        confirm = "UPDATE " + t + " SET confirmed = true" + ofClaim + " AND response_code IS NULL";

        isRecorded = "SELECT FROM " + t + ofClaim + " AND response_code IS NOT NULL";
        release = "DELETE FROM " + t + ofClaim + " AND response_code IS NULL AND " + BOUNDED;

        // Answers which claims the snapshot still has. A row that is locked at this moment is skipped, not lost.
        String ofOurs = " FROM " + t + " AS k JOIN ours USING (scope, key, claim_token)"
                + " WHERE k.response_code IS NULL AND k.expires_at > now()";
        renew = "WITH ours AS ("
                + "SELECT * FROM unnest(CAST(? AS text[]), CAST(? AS text[]), CAST(? AS uuid[]), CAST(? AS bigint[]))"
                + " AS o (scope, key, claim_token, lease)"
                + "), held AS ("
                + "SELECT k.claim_token" + ofOurs
                + "), unlocked AS ("
                + "SELECT k.scope, k.key, k.claim_token, ours.lease" + ofOurs
                + " ORDER BY k.scope, k.key FOR NO KEY UPDATE OF k SKIP LOCKED"
                + "), renewed AS ("
                + "UPDATE " + t
                + " AS k SET lease_until = now() + u.lease * interval '1 millisecond' FROM unlocked AS u"
                + " WHERE k.scope = u.scope AND k.key = u.key AND k.claim_token = u.claim_token"
                + " AND k.response_code IS NULL"
                + ") SELECT claim_token FROM held";

        // Rows are locked before they go, and judged again once they are: a new claim may have taken a row's place.
        purge = "WITH doomed AS MATERIALIZED ("
                + "SELECT scope, key FROM " + t + " WHERE expires_at <= now()"
                + " ORDER BY expires_at LIMIT ? FOR UPDATE SKIP LOCKED"
                + ") DELETE FROM " + t + " AS k USING doomed AS d"
                + " WHERE k.scope = d.scope AND k.key = d.key AND k.expires_at <= now()";
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
        try (PreparedStatement statement = connection.prepareStatement(claim)) {
            int i = bindKey(statement, 1, request.key());
            i = bindKey(statement, i, request.key());
            i = bindClaim(statement, i, request);
            statement.setString(i, lockTimeout);
            return seen(statement);
        }
    }

    /** Looks again, at the row's latest version; absent if there is none. Fails at once if the row is locked. */
    Optional<Seen> look(Connection connection, IdempotencyKey key) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(look)) {
            bindKey(statement, 1, key);
            return seen(statement);
        }
    }

    /** Claims an expired row, if its claim is still the one given; answers the attempt, which is 1. */
    OptionalInt claimExpired(Connection connection, Request request, UUID stale) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(claimExpired)) {
            int i = bindClaim(statement, 1, request);
            i = bindClaimed(statement, i, request.key(), stale);
            statement.setString(i, lockTimeout);
            return attempt(statement);
        }
    }

    /** Claims a lapsed and unconfirmed row of the same request, if its claim is still the one given. */
    OptionalInt claimLapsed(Connection connection, Request request, UUID stale) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(claimLapsed)) {
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
        try (PreparedStatement statement = connection.prepareStatement(complete)) {
            int i = Rows.bindResponse(statement, 1, response);
            i = bindClaimed(statement, i, key, token);
            statement.setString(i, lockTimeout);
            return statement.executeUpdate() == 1;
        }
    }

    /** Whether this very claim has a response, so that an earlier try to record it did arrive. */
    boolean isRecorded(Connection connection, IdempotencyKey key, UUID token) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(isRecorded)) {
            bindClaimed(statement, 1, key, token);
            try (ResultSet row = statement.executeQuery()) {
                return row.next();
            }
        }
    }

    /** Deletes the row, if its claim is still the one given and unfinished; answers whether it was. */
    boolean release(Connection connection, IdempotencyKey key, UUID token) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(release)) {
            int i = bindClaimed(statement, 1, key, token);
            statement.setString(i, lockTimeout);
            return statement.executeUpdate() == 1;
        }
    }

    /** Leaves the mark of a business transaction, if the claim is still the one given and unfinished. */
    boolean confirm(Connection connection, IdempotencyKey key, UUID token) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(confirm)) {
            bindClaimed(statement, 1, key, token);
            return statement.executeUpdate() == 1;
        }
    }

    /** Renews all of these that are still claims, and answers the tokens of those that are. */
    Set<UUID> renew(Connection connection, Collection<Renewal> renewals) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(renew)) {
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
        try (PreparedStatement statement = connection.prepareStatement(purge)) {
            statement.setInt(1, limit);
            return statement.executeUpdate();
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

    /** Reads the current row's columns, by the names that {@link #SEEN} gives them. */
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
