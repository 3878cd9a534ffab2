// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.util.function.UnaryOperator;

/**
 * Every statement that the lease store sends for one key; {@link KeyBatches} has those for many. Rules that all of them keep:
 *
 * <ul>
 *   <li>The database's {@code now()} is the only clock; parameters are durations, never instants.
 *   <li>A row is found by its primary key, and written only where its claim token is the one that was seen.
 *   <li>Waiting for another transaction's lock is bounded within the statement itself, as a transaction-pooling proxy
 *       has no session to set it for: {@code set_config(…, true)} lasts as long as the transaction. It stands among the
 *       conditions, so that it is evaluated before the row is locked.
 *   <li>A row that is named by its key must be found by the primary key, whatever the planner believes about the table.
 *       {@code IS TRUE} keeps it from going by the other index, which seems cheap to it whenever it believes that few
 *       rows have expired, or few have not. Lists come by way of a CTE, so that it takes them for short: told their
 *       length it may join by a hash of the whole table.
 *   <li>One transaction for each statement: each look has a snapshot of its own.
 * </ul>
 */
final class KeySql {

    /** What {@link KeyTable#read} reads. */
    static final String SEEN = """
            claim_token, request_hash, attempt, joined, confirmed, response_code, response_headers, response_body,
              expires_at <= now() AS expired, ceil(extract(epoch FROM lease_until - now()) * 1000) AS remaining""";

    // A new key and a replay take one round trip each, and a replay writes nothing. If there is neither row, the insert
    // met one that this snapshot can't see.
    private static final String CLAIM = """
            WITH existing AS MATERIALIZED (
              SELECT {seen} FROM idempotency_key WHERE scope = ? AND key = ?
            ), claimed AS (
              INSERT INTO idempotency_key (scope, key, request_hash, claim_token, joined, lease_until, expires_at)
              SELECT ?, ?, ?, ?, ?, now() + ? * interval '1 ms', now() + ? * interval '1 ms'
              WHERE NOT EXISTS (SELECT FROM existing) AND {bounded}
              ON CONFLICT (scope, key) DO NOTHING
              RETURNING {seen}
            )
            SELECT * FROM existing UNION ALL SELECT * FROM claimed""";

    // The latest version of the row, unless somebody holds it: a business transaction that confirms, for one.
    private static final String LOOK = """
            SELECT {seen} FROM idempotency_key WHERE scope = ? AND key = ? FOR SHARE NOWAIT""";

    private static final String CLAIM_EXPIRED = """
            UPDATE idempotency_key
            SET request_hash = ?, claim_token = ?, joined = ?, confirmed = false, attempt = 1, created_at = now(),
              lease_until = now() + ? * interval '1 ms', expires_at = now() + ? * interval '1 ms',
              response_code = NULL, response_headers = NULL, response_body = NULL
            WHERE scope = ? AND key = ? AND claim_token = ? AND {expired} AND {bounded}
            RETURNING attempt""";

    private static final String CLAIM_LAPSED = """
            UPDATE idempotency_key
            SET request_hash = ?, claim_token = ?, joined = ?, attempt = attempt + 1, created_at = now(),
              lease_until = now() + ? * interval '1 ms', expires_at = now() + ? * interval '1 ms'
            WHERE scope = ? AND key = ? AND claim_token = ? AND request_hash = ? AND response_code IS NULL
              AND NOT confirmed AND lease_until <= now() AND {unexpired} AND {bounded}
            RETURNING attempt""";

    // No indexed column is written, here and in CONFIRM and RENEW, so the new version stays on the row's own page.
    private static final String COMPLETE = """
            UPDATE idempotency_key SET response_code = ?, response_headers = CAST(? AS jsonb), response_body = ?
            WHERE scope = ? AND key = ? AND claim_token = ? AND response_code IS NULL AND {bounded}""";

    private static final String IS_RECORDED = """
            SELECT FROM idempotency_key
            WHERE scope = ? AND key = ? AND claim_token = ? AND response_code IS NOT NULL""";

    private static final String RELEASE = """
            DELETE FROM idempotency_key
            WHERE scope = ? AND key = ? AND claim_token = ? AND response_code IS NULL AND {bounded}""";

    private static final String CONFIRM = """
            UPDATE idempotency_key SET confirmed = true
            WHERE scope = ? AND key = ? AND claim_token = ? AND response_code IS NULL""";

    // Answers which claims the snapshot still has: a row that is locked at this moment is skipped, and not lost.
    private static final String RENEW = """
            WITH given AS MATERIALIZED (
              SELECT CAST(? AS text[]) AS scopes, CAST(? AS text[]) AS keys,
                CAST(? AS uuid[]) AS tokens, CAST(? AS bigint[]) AS leases
            ), ours AS MATERIALIZED (
              SELECT o.* FROM given, unnest(scopes, keys, tokens, leases) AS o (scope, key, claim_token, lease)
            ), held AS MATERIALIZED (
              SELECT k.claim_token FROM idempotency_key AS k JOIN ours USING (scope, key, claim_token)
              WHERE k.response_code IS NULL AND {unexpired}
            ), unlocked AS MATERIALIZED (
              SELECT k.scope, k.key, k.claim_token, ours.lease
              FROM idempotency_key AS k JOIN ours USING (scope, key, claim_token)
              WHERE k.response_code IS NULL AND {unexpired}
              ORDER BY k.scope, k.key
              FOR NO KEY UPDATE OF k SKIP LOCKED
            ), renewed AS (
              UPDATE idempotency_key AS k SET lease_until = now() + u.lease * interval '1 ms'
              FROM unlocked AS u
              WHERE k.scope = u.scope AND k.key = u.key AND k.claim_token = u.claim_token AND k.response_code IS NULL
            )
            SELECT claim_token FROM held""";

    // Rows are locked before they go, and judged again then: a new claim may have taken a row's place. They are found
    // again by where they lie, which no lock lets change and which costs no look-up; a row that moved before it was
    // locked is left for next time. The index keeps entries of rows that are gone until it is vacuumed: whoever begins
    // where the last batch has ended needn't read through them again.
    private static final String PURGE = """
            WITH doomed AS MATERIALIZED (
              SELECT ctid FROM idempotency_key WHERE expires_at <= now() AND expires_at >= CAST(? AS timestamptz)
              ORDER BY expires_at LIMIT ? FOR UPDATE SKIP LOCKED
            ), gone AS (
              DELETE FROM idempotency_key AS k
              WHERE k.ctid = ANY (ARRAY(SELECT ctid FROM doomed)) AND {expired}
              RETURNING k.expires_at
            )
            SELECT count(*), CAST(max(expires_at) AS text) FROM gone""";

    final String claim;
    final String look;
    final String claimExpired;
    final String claimLapsed;
    final String complete;
    final String isRecorded;
    final String release;
    final String confirm;
    final String renew;
    final String purge;

    /** The statements over a table of that name. */
    KeySql(TableName table) {
        UnaryOperator<String> sql = template -> template.replace("{seen}", SEEN)
                .replace("{expired}", "(expires_at <= now()) IS TRUE")
                .replace("{unexpired}", "(expires_at > now()) IS TRUE")
                .replace("{bounded}", "set_config('lock_timeout', ?, true) IS NOT NULL")
                .replace("idempotency_key", table.sql());
        claim = sql.apply(CLAIM);
        look = sql.apply(LOOK);
        claimExpired = sql.apply(CLAIM_EXPIRED);
        claimLapsed = sql.apply(CLAIM_LAPSED);
        complete = sql.apply(COMPLETE);
        isRecorded = sql.apply(IS_RECORDED);
        release = sql.apply(RELEASE);
        confirm = sql.apply(CONFIRM);
        renew = sql.apply(RENEW);
        purge = sql.apply(PURGE);
    }
}
