// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.idemkey.Bytes;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore.Completion;
import org.idemkey.Lease;
import org.idemkey.Scope;
import org.idemkey.StoredResponse;
import org.idemkey.StoredResponse.Header;
import org.idemkey.Terms;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What the store sends to the database, and what it leaves there, beside the contract. */
class PostgresLeaseStoreTest {

    private static final Fingerprint REQUEST = Fingerprint.of("a request");
    private static final Terms TERMS = new Terms(Duration.ofHours(1), Duration.ofHours(24));
    private static final StoredResponse ANSWER =
            StoredResponse.of(201, List.of(new Header("A", "b")), Bytes.utf8("done"));

    @RegisterExtension
    static final TestDatabase database = new TestDatabase();

    private final ProbedDataSource wire = new ProbedDataSource(database.pool(), new ProbedDataSource.Probe() {});
    private final PostgresLeaseStore store = PostgresLeaseStore.create(wire);
    private final IdempotencyKey key =
            new IdempotencyKey(Scope.ANONYMOUS, UUID.randomUUID().toString());

    @AfterEach
    void close() {
        store.close();
    }

    @Test
    void aFirstRequestTakesOneStatementForTheClaimAndOneForTheCompletion() {
        Lease lease = ((Claim.Acquired) store.claim(key, REQUEST, TERMS)).lease();
        assertThat(wire.statements()).hasSize(1);

        store.complete(lease, ANSWER);
        assertThat(wire.statements()).hasSize(2);
    }

    @Test
    void aReplayTakesOneStatementAndWritesNothing() {
        store.complete(((Claim.Acquired) store.claim(key, REQUEST, TERMS)).lease(), ANSWER);
        wire.statements().clear();
        Object before = rowVersion();

        assertThat(store.claim(key, REQUEST, TERMS)).isEqualTo(new Claim.Completed(ANSWER));

        assertThat(wire.statements()).hasSize(1);
        assertThat(rowVersion()).isEqualTo(before);
    }

    @Test
    void aMismatchAndADuplicateInFlightTakeOneStatementAndWriteNothing() {
        store.claim(key, REQUEST, TERMS);
        wire.statements().clear();
        Object before = rowVersion();

        assertThat(store.claim(key, REQUEST, TERMS)).isInstanceOf(Claim.InProgress.class);
        assertThat(store.claim(key, Fingerprint.of("another"), TERMS)).isInstanceOf(Claim.Mismatched.class);

        assertThat(wire.statements()).hasSize(2);
        assertThat(rowVersion()).isEqualTo(before);
    }

    private Object rowVersion() {
        return database.query(
                "SELECT concat(ctid, ' ', xmin, ' ', xmax, ' ', expires_at) FROM idempotency_key WHERE key = ?",
                key.value());
    }

    @Test
    void anExpiredRowIsWrittenAnewInEveryColumn() {
        store.complete(((Claim.Acquired) store.claim(key, REQUEST, TERMS)).lease(), ANSWER);
        database.update("UPDATE idempotency_key SET attempt = 7, joined = true, confirmed = true");
        database.elapse(TERMS.retention());

        store.claim(key, Fingerprint.of("another"), TERMS);

        assertThat(database.query(
                        "SELECT attempt = 1 AND NOT joined AND NOT confirmed AND response_code IS NULL"
                                + " AND response_headers IS NULL AND response_body IS NULL AND request_hash = ?"
                                + " AND created_at > now() - interval '1 hour' AND lease_until > now()"
                                + " AND expires_at = created_at + interval '24 hours'"
                                + " FROM idempotency_key WHERE key = ?",
                        Fingerprint.of("another").hex(),
                        key.value()))
                .isEqualTo(true);
    }

    @Test
    void aLapsedClaimOfAJoinedLeaseIsAcquired() {
        Lease lease = ((Claim.Acquired) store.claim(key, REQUEST, TERMS)).lease();
        database.update("UPDATE idempotency_key SET joined = true WHERE key = ?", key.value());
        assertThat(store.claim(key, REQUEST, TERMS)).isInstanceOf(Claim.InProgress.class);
        database.elapse(TERMS.lease());

        Lease next = ((Claim.Acquired) store.claim(key, REQUEST, TERMS)).lease();

        assertThat(next.attempt()).isEqualTo(2);
        assertThat(store.complete(lease, ANSWER)).isEqualTo(Completion.LOST);
        database.elapse(TERMS.lease());
        assertThat(store.claim(key, REQUEST, TERMS)).isInstanceOf(Claim.OutcomeUnknown.class);
    }

    @Test
    void aRowOfTheSameTransactionModeIsUnderstood() {
        database.update(
                "INSERT INTO idempotency_key (scope, key, request_hash, claim_token, response_code, response_headers,"
                        + " response_body, expires_at) VALUES (?, ?, ?, gen_random_uuid(), 201, '[[\"A\", \"b\"]]',"
                        + " 'done', now() + interval '1 hour')",
                key.scope().value(),
                key.value(),
                REQUEST.hex());

        assertThat(store.claim(key, REQUEST, TERMS)).isEqualTo(new Claim.Completed(ANSWER));
        assertThat(store.claim(key, Fingerprint.of("another"), TERMS)).isInstanceOf(Claim.Mismatched.class);
    }

    // Case 22: no operation takes a second connection while it has one.
    @Test
    void aPoolOfOneIsEnoughForEveryOperation() {
        ProbedDataSource one = new ProbedDataSource(database.pool(1), new ProbedDataSource.Probe() {});
        try (PostgresLeaseStore small = PostgresLeaseStore.create(one)) {
            Lease first = ((Claim.Acquired) small.claim(key, REQUEST, TERMS)).lease();
            small.claim(key, REQUEST, TERMS);
            small.claim(key, Fingerprint.of("another"), TERMS);
            database.elapse(TERMS.lease());
            Claim.OutcomeUnknown unknown = (Claim.OutcomeUnknown) small.claim(key, REQUEST, TERMS);
            Lease second = ((Claim.Acquired) small.takeOver(unknown.stale(), REQUEST, TERMS)).lease();
            small.takeOver(unknown.stale(), REQUEST, TERMS);
            small.release(first);
            small.release(second);
            Lease third = ((Claim.Acquired) small.claim(key, REQUEST, TERMS)).lease();
            small.complete(third, ANSWER);
            small.claim(key, REQUEST, TERMS);
            database.elapse(TERMS.retention());
            small.claim(key, REQUEST, TERMS);
            database.elapse(TERMS.retention());
            assertThat(small.purgeExpired(1000)).isPositive();
        }
        assertThat(one.mostConnections()).isEqualTo(1);
        assertThat(one.openConnections()).isZero();
    }

    @Test
    void manyLeasesHoldNoConnection() {
        for (int i = 0; i < 100; i++) {
            store.claim(new IdempotencyKey(Scope.caller("many"), "k" + i), REQUEST, TERMS);
        }
        assertThat(wire.openConnections()).isZero();
        assertThat(wire.mostConnections()).isEqualTo(1);
    }

    @Test
    void anotherTableMayBeNamed() {
        database.update("CREATE SCHEMA shop");
        PostgresSchema.create(database.pool(), "shop.keys");
        try (PostgresLeaseStore other =
                PostgresLeaseStore.builder(wire).table("shop.keys").build()) {
            other.complete(((Claim.Acquired) other.claim(key, REQUEST, TERMS)).lease(), ANSWER);
        }
        assertThat(database.query("SELECT count(*) FROM shop.keys WHERE key = ?", key.value()))
                .isEqualTo(1L);
        assertThat(store.claim(key, REQUEST, TERMS)).isInstanceOf(Claim.Acquired.class);
    }

    // Completion updates no indexed column, and the page has room: so no index entry is written.
    @Test
    void completionsAreHeapOnlyUpdates() {
        PostgresSchema.create(database.pool(), "hot");
        try (PostgresLeaseStore hot =
                PostgresLeaseStore.builder(database.pool()).table("hot").build()) {
            for (int i = 0; i < 200; i++) {
                IdempotencyKey one = new IdempotencyKey(Scope.caller("hot"), "k" + i);
                hot.complete(((Claim.Acquired) hot.claim(one, REQUEST, TERMS)).lease(), ANSWER);
            }
        }
        assertThat(database.query("SELECT string_agg(a.attname, ',' ORDER BY a.attname) FROM pg_index i"
                        + " JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)"
                        + " WHERE i.indrelid = 'hot'::regclass"))
                .isEqualTo("expires_at,key,scope");
        await().until(() -> database.query("SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'hot'")
                .equals(200L));
        assertThat((Long) database.query("SELECT n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'hot'"))
                .isGreaterThan(190);
    }

    @Test
    void settingsOutOfBoundsAreRefused() {
        assertThatThrownBy(() ->
                        PostgresLeaseStore.builder(wire).timeout(Duration.ZERO).build())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("timeout");
        assertThatThrownBy(() -> PostgresLeaseStore.builder(wire)
                        .lockTimeout(Duration.ofMinutes(2))
                        .build())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("lockTimeout");
        assertThatThrownBy(
                        () -> PostgresLeaseStore.builder(wire).deferredBytes(-1).build())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("deferredBytes");
        assertThatThrownBy(() -> PostgresLeaseStore.builder(wire).table("x; DROP TABLE y"))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> store.purgeExpired(0)).isInstanceOf(IllegalArgumentException.class);
    }
}
