// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.idemkey.Bytes;
import org.idemkey.IdempotencyKey;
import org.idemkey.StoredResponse;
import org.idemkey.postgres.KeyTable.Request;
import org.idemkey.postgres.KeyTable.Seen;
import org.jspecify.annotations.Nullable;

/**
 * The statements of {@link KeyTable} for many keys at once: one statement, one transaction. Each row is judged by itself,
 * and the answers come in the order of the questions.
 *
 * <p>Rows are locked in the order of scope and key, which is the same in every process, so that two of these statements
 * never wait for each other. The planner has to be led to the primary key: for more rows than one it would rather read a
 * table through that it takes to be small, and its plan would last while the table grows, until the next {@code ANALYZE}.
 */
final class KeyBatches {

    private static final String BOUNDED = "(SELECT set_config('lock_timeout', ?, true)) AS bounded";
    /** The names of {@link KeySql#SEEN}, which the statement within has worked out. */
    private static final String CLAIMED = "claim_token, request_hash, attempt, joined, confirmed, response_code,"
            + " response_headers, response_body, expired, remaining";

    /** Always true; by this the planner counts on one row, and looks it up by the primary key. */
    private static final String FEW = " WHERE a.n * 0 = 0";

    private static final String IN = " * interval '1 millisecond'";

    private final String lockTimeout;
    private final String claim;
    private final String complete;
    private final String release;

    KeyBatches(TableName table, Duration lockTimeout) {
        this.lockTimeout = Long.toString(lockTimeout.toMillis());
        String t = table.sql();
        String ofKey = " WHERE k.scope = a.scope AND k.key = a.key";

        // Of one key that is asked for twice the first is inserted, and both are told of that row.
        claim = "WITH asked AS MATERIALIZED (SELECT a.* FROM " + BOUNDED + ", unnest(" + arrays("text", "text", "text")
                + ", " + arrays("uuid", "boolean", "bigint", "bigint") + ") WITH ORDINALITY"
                + " AS a (scope, key, request_hash, claim_token, joined, lease, retention, n)" + FEW
                + "), existing AS MATERIALIZED ("
                + "SELECT a.n, k.* FROM asked AS a CROSS JOIN LATERAL"
                + " (SELECT " + KeySql.SEEN + " FROM " + t + " AS k" + ofKey + " LIMIT 1) AS k"
                + "), claimed AS ("
                + "INSERT INTO " + t + " (scope, key, request_hash, claim_token, joined, lease_until, expires_at)"
                + " SELECT a.scope, a.key, a.request_hash, a.claim_token, a.joined,"
                + " now() + a.lease" + IN + ", now() + a.retention" + IN
                + " FROM asked AS a WHERE NOT EXISTS (SELECT FROM existing AS e WHERE e.n = a.n) ORDER BY a.n"
                + " ON CONFLICT (scope, key) DO NOTHING"
                + " RETURNING scope, key, " + KeySql.SEEN
                + ") SELECT * FROM existing UNION ALL SELECT a.n, c.* FROM asked AS a CROSS JOIN LATERAL"
                + " (SELECT " + CLAIMED + " FROM claimed AS k" + ofKey + ") AS c";

        String ours = "), ours AS MATERIALIZED (SELECT a.* FROM asked AS a CROSS JOIN LATERAL"
                + " (SELECT FROM " + t + " AS k" + ofKey + " AND k.claim_token = a.claim_token"
                + " AND k.response_code IS NULL FOR %s) AS k) ";
        String isOurs = ofKey + " AND k.claim_token = a.claim_token AND k.response_code IS NULL RETURNING a.n";

        complete = "WITH asked AS MATERIALIZED (SELECT a.* FROM " + BOUNDED + ", unnest("
                + arrays("text", "text", "uuid")
                + ", " + arrays("int", "text", "bytea") + ") WITH ORDINALITY"
                + " AS a (scope, key, claim_token, code, headers, body, n)" + FEW
                + String.format(ours, "NO KEY UPDATE")
                + "UPDATE " + t + " AS k SET response_code = a.code, response_headers = CAST(a.headers AS jsonb),"
                + " response_body = a.body FROM ours AS a" + isOurs;

        release =
                "WITH asked AS MATERIALIZED (SELECT a.* FROM " + BOUNDED + ", unnest(" + arrays("text", "text", "uuid")
                        + ") WITH ORDINALITY AS a (scope, key, claim_token, n)" + FEW
                        + String.format(ours, "UPDATE")
                        + "DELETE FROM " + t + " AS k USING ours AS a" + isOurs;
    }

    private static String arrays(String... types) {
        return String.join(
                ", ",
                Arrays.stream(types).map(type -> "CAST(? AS " + type + "[])").toList());
    }

    /**
     * A claim that has ended.
     *
     * @param response null where the key is to be freed
     */
    record Ending(IdempotencyKey key, UUID token, @Nullable StoredResponse response) {}

    /** As {@link KeyTable#claim}, for all of these. */
    List<Optional<Seen>> claim(Connection connection, List<Request> requests) throws SQLException {
        Batch<Request> batch = new Batch<>(connection, requests, Request::key);
        try (PreparedStatement statement = connection.prepareStatement(claim)) {
            statement.setString(1, lockTimeout);
            batch.bindKeys(statement, 2);
            batch.bind(statement, 4, "text", request -> request.fingerprint().hex());
            batch.bind(statement, 5, "uuid", Request::token);
            batch.bind(statement, 6, "boolean", Request::joined);
            batch.bind(
                    statement, 7, "bigint", request -> request.terms().lease().toMillis());
            batch.bind(
                    statement,
                    8,
                    "bigint",
                    request -> request.terms().retention().toMillis());
            List<Optional<Seen>> seen = batch.answers(Optional.empty());
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    seen.set(batch.question(rows.getInt("n")), Optional.of(KeyTable.read(rows)));
                }
            }
            return seen;
        }
    }

    /** As {@link KeyTable#complete}, for all of these; each has a response. */
    List<Boolean> complete(Connection connection, List<Ending> endings) throws SQLException {
        Batch<Ending> batch = new Batch<>(connection, endings, Ending::key);
        try (PreparedStatement statement = connection.prepareStatement(complete)) {
            statement.setString(1, lockTimeout);
            batch.bindKeys(statement, 2);
            batch.bind(statement, 4, "uuid", Ending::token);
            batch.bind(statement, 5, "int", ending -> response(ending).status());
            batch.bind(
                    statement,
                    6,
                    "text",
                    ending -> HeaderJson.write(response(ending).headers()));
            batch.bindBodies(statement, 7, ending -> response(ending).body().orElse(null));
            return acted(statement, batch);
        }
    }

    private static StoredResponse response(Ending ending) {
        StoredResponse response = ending.response();
        if (response == null) {
            throw new IllegalArgumentException("nothing to complete with");
        }
        return response;
    }

    /** As {@link KeyTable#release}, for all of these. */
    List<Boolean> release(Connection connection, List<Ending> endings) throws SQLException {
        Batch<Ending> batch = new Batch<>(connection, endings, Ending::key);
        try (PreparedStatement statement = connection.prepareStatement(release)) {
            statement.setString(1, lockTimeout);
            batch.bindKeys(statement, 2);
            batch.bind(statement, 4, "uuid", Ending::token);
            return acted(statement, batch);
        }
    }

    private static List<Boolean> acted(PreparedStatement statement, Batch<Ending> batch) throws SQLException {
        List<Boolean> acted = batch.answers(false);
        try (ResultSet rows = statement.executeQuery()) {
            while (rows.next()) {
                acted.set(batch.question(rows.getInt("n")), true);
            }
        }
        return acted;
    }

    /** Questions in the order of their locks, and the way back to the order in which they were asked. */
    private static final class Batch<Q> {

        private static final Comparator<IdempotencyKey> LOCK_ORDER = Comparator.comparing(
                        (IdempotencyKey key) -> key.scope().value())
                .thenComparing(IdempotencyKey::value);

        private final Connection connection;
        private final List<Q> questions;
        private final Function<Q, IdempotencyKey> key;
        private final int[] order;

        Batch(Connection connection, List<Q> questions, Function<Q, IdempotencyKey> key) {
            this.connection = connection;
            this.questions = questions;
            this.key = key;
            order = IntStream.range(0, questions.size())
                    .boxed()
                    .sorted(Comparator.comparing(i -> key.apply(questions.get(i)), LOCK_ORDER))
                    .mapToInt(Integer::intValue)
                    .toArray();
        }

        void bindKeys(PreparedStatement statement, int index) throws SQLException {
            bind(
                    statement,
                    index,
                    "text",
                    question -> key.apply(question).scope().value());
            bind(statement, index + 1, "text", question -> key.apply(question).value());
        }

        void bind(PreparedStatement statement, int index, String type, Function<Q, Object> value) throws SQLException {
            Object[] values = new Object[order.length];
            Arrays.setAll(values, i -> value.apply(questions.get(order[i])));
            statement.setArray(index, connection.createArrayOf(type, values));
        }

        void bindBodies(PreparedStatement statement, int index, Function<Q, @Nullable Bytes> body) throws SQLException {
            byte[][] bodies = new byte[order.length][];
            for (int i = 0; i < order.length; i++) {
                Bytes bytes = body.apply(questions.get(order[i]));
                bodies[i] = bytes == null ? null : bytes.toByteArray();
            }
            statement.setArray(index, connection.createArrayOf("bytea", bodies));
        }

        <A> List<A> answers(A unlessTold) {
            List<A> answers = new ArrayList<>(order.length);
            for (int i = 0; i < order.length; i++) {
                answers.add(unlessTold);
            }
            return answers;
        }

        /** The question's place in the order of asking, by its ordinality in the statement, which counts from 1. */
        int question(int ordinality) {
            return order[ordinality - 1];
        }
    }
}
