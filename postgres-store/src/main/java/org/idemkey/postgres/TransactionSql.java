// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Function;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.StoredResponse;
import org.jspecify.annotations.Nullable;

/**
 * The statements of the same-transaction store. Several of them stand in one text, separated by semicolons: the driver
 * sends such a text in one round trip, and the server runs its statements one by one, each with a snapshot of its own.
 */
final class TransactionSql {

    private static final Found.Locks[] LOCKS = Found.Locks.values();

    private final AdvisoryLocks locks;
    private final String begin;
    private final String beginReadOnly;
    private final String peek;
    private final String glance;
    private final String glances;
    private final String find;
    private final String lockTimeout;
    private final String delete;
    private final String insert;

    TransactionSql(TableName table, AdvisoryLocks locks, Duration lockTimeout, @Nullable Duration idleTimeout) {
        this.locks = locks;
        this.lockTimeout = "SET LOCAL lock_timeout = " + lockTimeout.toMillis() + ";";
        String self = "SELECT " + locks.trySql() + ", pg_backend_pid(), extract(epoch FROM now()),"
                + " current_setting('transaction_read_only') = 'on'";
        String limit = idleTimeout == null
                ? ""
                : ", set_config('idle_in_transaction_session_timeout', '" + idleTimeout.toMillis() + "', true)";
        String rows = "SELECT request_hash, claim_token, attempt, joined, confirmed,"
                + " response_code, response_headers, response_body,"
                + " expires_at <= now() AS expired,"
                + " response_code IS NULL AND lease_until <= now() AS lapsed,"
                + " CAST(extract(epoch FROM lease_until - now()) * 1000 AS bigint) AS remaining"
                + " FROM " + table.sql() + " AS k";
        String row = rows + " WHERE scope = ? AND key = ?";
        // The look-up has to be a statement of its own, after the locks': in one statement its snapshot would be older
        // than the locks, and a row that was committed in between would be missed.
        String claim = self + limit + ";SAVEPOINT " + Units.FIRST_SAVEPOINT + ";" + row;
        begin = "BEGIN;" + claim;
        beginReadOnly = "BEGIN READ ONLY;" + claim;
        peek = self + ";" + row;
        glance = row;
        glances =
                "SELECT a.n, k.* FROM unnest(CAST(? AS text[]), CAST(? AS text[])) WITH ORDINALITY AS a (scope, key, n)"
                        + " CROSS JOIN LATERAL (" + rows + " WHERE k.scope = a.scope AND k.key = a.key LIMIT 1) AS k";
        find = self + ", EXISTS (SELECT FROM pg_stat_activity WHERE pid = ?"
                + " AND (extract(epoch FROM xact_start) = ? OR state IS NULL OR state = 'disabled'));" + row;
        delete = "DELETE FROM " + table.sql()
                + " WHERE scope = ? AND key = ? AND claim_token = ? AND (expires_at <= now()"
                + " OR (response_code IS NULL AND lease_until <= now() AND NOT confirmed));";
        insert = "INSERT INTO " + table.sql() + " (scope, key, request_hash, claim_token, attempt,"
                + " response_code, response_headers, response_body, expires_at)"
                + " VALUES (?, ?, ?, ?, ?, ?, CAST(? AS jsonb), ?, now() + ? * interval '1 millisecond');COMMIT";
    }

    /**
     * Begins a request's transaction: takes what locks are free, sets the first savepoint, looks the key up. To be sent in
     * auto-commit mode: a driver that begins the transaction by itself sends that as a message of its own.
     */
    Found begin(Connection connection, IdempotencyKey key, Fingerprint fingerprint) throws SQLException {
        return look(connection, connection.isReadOnly() ? beginReadOnly : begin, 1, key, fingerprint);
    }

    /** Looks the key up in a transaction of its own, which ends at once. */
    Found peek(Connection connection, IdempotencyKey key, Fingerprint fingerprint) throws SQLException {
        return look(connection, peek, 0, key, fingerprint);
    }

    /**
     * Looks for these keys' rows alone, in one round trip and in the keys' order: a row that it finds is true, but none
     * tells nothing.
     */
    List<Optional<Found.Row>> glance(Connection connection, List<IdempotencyKey> keys) throws SQLException {
        boolean one = keys.size() == 1;
        List<Optional<Found.Row>> found = new ArrayList<>(Collections.nCopies(keys.size(), Optional.empty()));
        try (PreparedStatement statement = connection.prepareStatement(one ? glance : glances)) {
            if (one) {
                bindKey(statement, 1, keys.get(0));
            } else {
                statement.setArray(1, array(connection, keys, key -> key.scope().value()));
                statement.setArray(2, array(connection, keys, IdempotencyKey::value));
            }
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    found.set(one ? 0 : rows.getInt("n") - 1, Optional.of(read(rows)));
                }
            }
        }
        return found;
    }

    private static Array array(Connection connection, List<IdempotencyKey> keys, Function<IdempotencyKey, String> part)
            throws SQLException {
        return connection.createArrayOf("text", keys.stream().map(part).toArray());
    }

    /** Reads the locks' answer and the row, each of them behind so many other results. */
    private Found look(Connection connection, String sql, int between, IdempotencyKey key, Fingerprint fingerprint)
            throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            bindKey(statement, bindLocks(statement, key, fingerprint), key);
            statement.execute();
            skip(statement, between);
            Found.Locks taken;
            Found.Backend backend;
            boolean readOnly;
            try (ResultSet first = firstRow(statement)) {
                taken = LOCKS[first.getInt(1)];
                backend = new Found.Backend(first.getInt(2), first.getBigDecimal(3));
                readOnly = first.getBoolean(4);
            }
            skip(statement, between);
            return new Found(taken, row(statement), backend, readOnly);
        }
    }

    /** What a look-up on another connection can tell about a commit whose answer is missing. */
    record Trace(@Nullable UUID token, boolean expired, boolean over) {}

    /**
     * Looks for a claim's row, and whether the transaction that was to write it is over: its locks are free, or its
     * server process has gone or gone on.
     */
    Trace find(Connection connection, TransactionLease lease) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(find)) {
            int next = bindLocks(statement, lease.key(), lease.fingerprint());
            statement.setInt(next, lease.backend().pid());
            statement.setBigDecimal(next + 1, lease.backend().began());
            bindKey(statement, next + 2, lease.key());
            statement.execute();
            boolean over;
            try (ResultSet first = firstRow(statement)) {
                boolean locksFree = locks == AdvisoryLocks.STANDARD && first.getInt(1) == 0;
                over = locksFree || !first.getBoolean(5);
            }
            Found.Row row = row(statement);
            return row == null ? new Trace(null, false, over) : new Trace(row.token(), row.expired(), over);
        }
    }

    /**
     * Ends the claim's server process if that waits for a statement which will never come. One that is busy is left
     * alone, since it may be committing.
     *
     * @return whether it was found waiting; then it has ended, or had a while to end
     */
    boolean endIdle(Connection connection, Found.Backend backend) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(
                "SELECT pg_terminate_backend(pid, 250) FROM pg_stat_activity"
                        + " WHERE pid = ? AND extract(epoch FROM xact_start) = ? AND state LIKE 'idle in transaction%'")) {
            statement.setInt(1, backend.pid());
            statement.setBigDecimal(2, backend.began());
            try (ResultSet rows = statement.executeQuery()) {
                return rows.next();
            }
        }
    }

    /**
     * Writes the whole row and commits, in one round trip: a statement that fails aborts the transaction, and the commit
     * behind it isn't executed.
     */
    void record(Connection connection, String epilogue, TransactionLease lease, StoredResponse response)
            throws SQLException {
        UUID replaced = lease.replaced();
        String sql = epilogue + lockTimeout + (replaced == null ? insert : delete + insert);
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            int next = 1;
            if (replaced != null) {
                next = bindKey(statement, next, lease.key());
                statement.setObject(next++, replaced);
            }
            next = bindKey(statement, next, lease.key());
            statement.setString(next++, lease.fingerprint().hex());
            statement.setObject(next++, lease.token());
            statement.setInt(next++, lease.attempt());
            next = Rows.bindResponse(statement, next, response);
            statement.setLong(next, lease.retention().toMillis());
            statement.execute();
        }
    }

    private int bindLocks(PreparedStatement statement, IdempotencyKey key, Fingerprint fingerprint)
            throws SQLException {
        statement.setLong(1, locks.ofRequest(key, fingerprint));
        statement.setLong(2, locks.ofKey(key));
        return 3;
    }

    private static int bindKey(PreparedStatement statement, int index, IdempotencyKey key) throws SQLException {
        statement.setString(index, key.scope().value());
        statement.setString(index + 1, key.value());
        return index + 2;
    }

    private static void skip(PreparedStatement statement, int results) throws SQLException {
        for (int i = 0; i < results; i++) {
            statement.getMoreResults();
        }
    }

    private static ResultSet firstRow(PreparedStatement statement) throws SQLException {
        ResultSet rows = statement.getResultSet();
        if (rows == null || !rows.next()) {
            throw new SQLException("the driver gave no result for the first statement of several");
        }
        return rows;
    }

    private static Found.@Nullable Row row(PreparedStatement statement) throws SQLException {
        if (!statement.getMoreResults()) {
            throw new SQLException("the driver gave no result for the last statement of several");
        }
        try (ResultSet row = statement.getResultSet()) {
            return row.next() ? read(row) : null;
        }
    }

    private static Found.Row read(ResultSet row) throws SQLException {
        row.getInt("response_code");
        boolean unfinished = row.wasNull();
        return new Found.Row(
                new Fingerprint(row.getString("request_hash")),
                row.getObject("claim_token", UUID.class),
                row.getInt("attempt"),
                row.getBoolean("joined"),
                row.getBoolean("confirmed"),
                row.getBoolean("expired"),
                row.getBoolean("lapsed"),
                Duration.ofMillis(Math.max(0, row.getLong("remaining"))),
                unfinished ? null : Rows.readResponse(row));
    }
}
