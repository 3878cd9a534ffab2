// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.idemkey.Bytes;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.Lease;
import org.idemkey.Scope;
import org.idemkey.StoredResponse;
import org.idemkey.Terms;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * No statement may read more of the table than the rows that it is about, however little the planner knows of it, or
 * however wrong that is by now.
 */
class QueryPlanTest {

    private static final Fingerprint REQUEST = Fingerprint.of("a request");
    private static final Terms TERMS = new Terms(Duration.ofHours(1), Duration.ofHours(24));
    private static final int PURGES = 20;

    @RegisterExtension
    static final TestDatabase database = new TestDatabase();

    @BeforeEach
    void empty() {
        database.update("DROP TABLE idempotency_key");
        PostgresSchema.create(database.pool());
        database.update("ALTER TABLE idempotency_key SET (autovacuum_enabled = off)");
    }

    @Test
    void ofATableThatWasNeverAnalyzed() throws Exception {
        fill("expired", "-1 hour");
        fill("live", "1 hour");
        assertNoStatementReadsMoreThanItsRows();
    }

    @Test
    void ofATableThatSeemsToBeExpiredAltogether() throws Exception {
        fill("expired", "-1 hour");
        database.update("ANALYZE idempotency_key");
        fill("live", "1 hour");
        assertNoStatementReadsMoreThanItsRows();
    }

    @Test
    void ofATableThatSeemsToLiveAltogether() throws Exception {
        fill("live", "1 hour");
        database.update("ANALYZE idempotency_key");
        fill("expired", "-1 hour");
        assertNoStatementReadsMoreThanItsRows();
    }

    @Test
    void ofATableThatSeemsToBeEmpty() throws Exception {
        database.update("ANALYZE idempotency_key");
        fill("expired", "-1 hour");
        fill("live", "1 hour");
        assertNoStatementReadsMoreThanItsRows();
    }

    private static void fill(String scope, String expiry) {
        database.update(
                "INSERT INTO idempotency_key (scope, key, request_hash, claim_token, response_code, response_headers,"
                        + " response_body, expires_at) SELECT ?, 'key-' || i, repeat('0', 64), gen_random_uuid(), 200,"
                        + " '[]', 'x', now() + CAST(? AS interval) FROM generate_series(1, 30000) AS i",
                scope,
                expiry);
    }

    private static void assertNoStatementReadsMoreThanItsRows() throws Exception {
        try (PostgresLeaseStore store = PostgresLeaseStore.create(database.pool())) {
            List<Lease> leases = new ArrayList<>();
            for (int i = 1; i <= 500; i++) {
                leases.add(acquire(store, new IdempotencyKey(Scope.ANONYMOUS, "new-" + i)));
                leases.add(acquire(store, new IdempotencyKey(new Scope("expired"), "key-" + i)));
                store.claim(new IdempotencyKey(new Scope("live"), "key-" + i), REQUEST, TERMS);
            }
            for (int i = 0; i < PURGES; i++) {
                store.keeper().renewals().renew();
                assertThat(store.purgeExpired(1000)).isEqualTo(1000);
                store.release(leases.get(i));
                store.complete(leases.get(i + PURGES), StoredResponse.of(200, List.of(), Bytes.EMPTY));
                store.takeOver(leases.get(i + 2 * PURGES), REQUEST, TERMS);
            }
        }
        TransactionSql transactions =
                new TransactionSql(TableName.DEFAULT, AdvisoryLocks.STANDARD, Duration.ofMillis(500), null);
        List<IdempotencyKey> keys = IntStream.rangeClosed(1, 16)
                .mapToObj(i -> new IdempotencyKey(new Scope("live"), "key-" + i))
                .toList();
        try (Connection connection = database.pool().getConnection()) {
            for (int i = 0; i < PURGES; i++) {
                assertThat(transactions.glance(connection, keys)).allMatch(Optional::isPresent);
            }
        }
        // Statistics come with a delay: what the sessions did is told when they are idle, or gone.
        database.pool().getHikariPoolMXBean().softEvictConnections();
        await().until(() ->
                statistic("n_tup_del", "pg_stat_user_tables WHERE relname = 'idempotency_key'") >= PURGES * 1001);
        // Two of them built the indexes.
        assertThat(statistic("seq_scan", "pg_stat_user_tables WHERE relname = 'idempotency_key'"))
                .isEqualTo(2);
        assertThat(statistic("idx_scan", "pg_stat_user_indexes WHERE indexrelname = 'idempotency_key_expires_at'"))
                .isEqualTo(PURGES);
    }

    private static Lease acquire(PostgresLeaseStore store, IdempotencyKey key) {
        return ((Claim.Acquired) store.claim(key, REQUEST, TERMS)).lease();
    }

    private static long statistic(String column, String from) {
        return (Long) database.query("SELECT " + column + " FROM " + from);
    }
}
