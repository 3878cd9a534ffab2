// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.zaxxer.hikari.HikariConfig;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.idemkey.Bytes;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore.Completion;
import org.idemkey.IdempotencyStoreException;
import org.idemkey.Lease;
import org.idemkey.Scope;
import org.idemkey.StoredResponse;
import org.idemkey.Terms;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a claim does while another transaction is writing the key's row, and in the moments after. */
class LockedRowsTest {

    private static final Fingerprint REQUEST = Fingerprint.of("a request");
    private static final Terms TERMS = new Terms(Duration.ofHours(1), Duration.ofHours(24));

    @RegisterExtension
    static final TestDatabase database = new TestDatabase();

    private final IdempotencyKey key =
            new IdempotencyKey(Scope.ANONYMOUS, UUID.randomUUID().toString());

    /** A store that waits for locks as long as this test can take. */
    private static PostgresLeaseStore patient(ProbedDataSource wire) {
        return PostgresLeaseStore.builder(wire)
                .lockTimeout(Duration.ofMinutes(1))
                .timeout(Duration.ofMinutes(2))
                .build();
    }

    private static ProbedDataSource wire() {
        return new ProbedDataSource(database.pool(), new ProbedDataSource.Probe() {});
    }

    /** Another transaction's insert of this key, uncommitted. */
    private Connection rival() throws SQLException {
        Connection rival = database.connect();
        rival.setAutoCommit(false);
        insertBy(rival);
        return rival;
    }

    private void insertBy(Connection connection) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(
                "INSERT INTO idempotency_key (scope, key, request_hash, claim_token, response_code, response_headers,"
                        + " response_body, expires_at) VALUES (?, ?, ?, gen_random_uuid(), 200, '[]', 'rival''s',"
                        + " now() + interval '1 hour')")) {
            statement.setString(1, key.scope().value());
            statement.setString(2, key.value());
            statement.setString(3, REQUEST.hex());
            statement.executeUpdate();
        }
    }

    private static final Claim RIVALS = new Claim.Completed(StoredResponse.of(200, List.of(), Bytes.utf8("rival's")));

    private static void awaitWaiting() {
        await().until(() -> database.query("SELECT EXISTS (SELECT FROM pg_stat_activity"
                        + " WHERE datname = current_database() AND wait_event_type = 'Lock')")
                .equals(true));
    }

    // Line 64, case 4: the rival is never committed before the claim has answered, so only the bound can end the wait.
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void anUncommittedRivalIsAClaimInProgressWithinTheLockTimeout(boolean autoCommit) throws Exception {
        HikariConfig config = new HikariConfig();
        config.setAutoCommit(autoCommit);
        try (Connection rival = rival();
                PostgresLeaseStore store = PostgresLeaseStore.builder(database.pool(2, config))
                        .lockTimeout(Duration.ofMillis(20))
                        .timeout(Duration.ofMinutes(2))
                        .build()) {
            assertThat(store.claim(key, REQUEST, TERMS)).isEqualTo(new Claim.InProgress(Duration.ZERO));

            rival.commit();
            assertThat(store.claim(key, REQUEST, TERMS)).isEqualTo(RIVALS);
        }
    }

    // The bound is the transaction's, so it must not be found on the connection afterwards.
    @Test
    void theLockTimeoutStaysOnNoConnection() throws Exception {
        var pool = database.pool(1);
        try (Connection before = pool.getConnection()) {
            assertThat(lockTimeout(before)).isEqualTo("0");
        }
        try (PostgresLeaseStore store = PostgresLeaseStore.create(pool)) {
            store.claim(key, REQUEST, TERMS);
            store.claim(key, REQUEST, TERMS);
        }
        try (Connection after = pool.getConnection()) {
            assertThat(lockTimeout(after)).isEqualTo("0");
            assertThat(after.getNetworkTimeout()).isZero();
        }
    }

    private static String lockTimeout(Connection connection) throws SQLException {
        try (var statement = connection.createStatement();
                var row = statement.executeQuery("SHOW lock_timeout")) {
            row.next();
            return row.getString(1);
        }
    }

    // Line 65: the claim's snapshot is older than the commit, so it has to look again.
    @Test
    void aRivalThatCommitsMeanwhileIsSeenByANewLook() throws Exception {
        ProbedDataSource wire = wire();
        try (Connection rival = rival();
                PostgresLeaseStore store = patient(wire)) {
            CompletableFuture<Claim> claim = CompletableFuture.supplyAsync(() -> store.claim(key, REQUEST, TERMS));
            awaitWaiting();

            rival.commit();

            assertThat(claim.get()).isEqualTo(RIVALS);
            assertThat(wire.statements()).hasSize(2);
        }
    }

    @Test
    void aRivalThatRollsBackMeanwhileLeavesTheKeyToTheClaim() throws Exception {
        ProbedDataSource wire = wire();
        try (Connection rival = rival();
                PostgresLeaseStore store = patient(wire)) {
            CompletableFuture<Claim> claim = CompletableFuture.supplyAsync(() -> store.claim(key, REQUEST, TERMS));
            awaitWaiting();

            rival.rollback();

            assertThat(claim.get()).isInstanceOf(Claim.Acquired.class);
            assertThat(wire.statements()).hasSize(1);
        }
    }

    // Sentence 10: committed when the claim inserts, gone again when it looks.
    @Test
    void aRowThatIsGoneAgainWhenItIsLookedForIsClaimedAnew() throws Exception {
        ProbedDataSource wire = new ProbedDataSource(database.pool(), new ProbedDataSource.Probe() {
            @Override
            public void after(Connection connection, String sql) {
                database.update("DELETE FROM idempotency_key WHERE key = ? AND response_code IS NOT NULL", key.value());
            }
        });
        try (Connection rival = rival();
                PostgresLeaseStore store = patient(wire)) {
            CompletableFuture<Claim> claim = CompletableFuture.supplyAsync(() -> store.claim(key, REQUEST, TERMS));
            awaitWaiting();

            rival.commit();

            assertThat(claim.get()).isInstanceOf(Claim.Acquired.class);
            assertThat(wire.statements()).hasSize(2);
        }
    }

    // Looking again has an end: here a policy hides the row from the one who claims, for ever.
    @Test
    void aRowThatCanNeverBeSeenIsAStoreException() throws Exception {
        assumeTrue(
                database.query("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
                        .equals(true),
                "the database user may not create the role that the row is hidden from");
        PostgresSchema.create(database.pool(), "hidden");
        database.update("ALTER TABLE hidden ENABLE ROW LEVEL SECURITY");
        database.update("CREATE POLICY writing ON hidden FOR INSERT WITH CHECK (true)");
        database.update("CREATE POLICY reading ON hidden FOR SELECT USING (request_hash <> 'h')");
        database.update("DROP ROLE IF EXISTS idemkey_limited");
        database.update("CREATE ROLE idemkey_limited");
        database.update("GRANT SELECT, INSERT, UPDATE, DELETE ON hidden TO idemkey_limited");
        database.update(
                "INSERT INTO hidden (scope, key, request_hash, claim_token, expires_at)"
                        + " VALUES (?, ?, 'h', gen_random_uuid(), now() + interval '1 hour')",
                key.scope().value(),
                key.value());
        HikariConfig config = new HikariConfig();
        config.setConnectionInitSql("SET ROLE idemkey_limited");
        var pool = database.pool(1, config);
        try (PostgresLeaseStore store =
                PostgresLeaseStore.builder(pool).table("hidden").build()) {
            assertThatThrownBy(() -> store.claim(key, REQUEST, TERMS))
                    .isInstanceOf(IdempotencyStoreException.class)
                    .hasMessageContaining("can't be seen")
                    .hasMessageNotContaining(key.value());
        } finally {
            pool.close();
            database.update("DROP OWNED BY idemkey_limited");
            database.update("DROP ROLE idemkey_limited");
        }
    }

    // A completion must not wait for ever either, and isn't lost for it.
    @Test
    void aCompletionOfALockedRowIsDeferredAndRecordedLater() throws Exception {
        try (PostgresLeaseStore store = PostgresLeaseStore.builder(database.pool())
                        .lockTimeout(Duration.ofMillis(20))
                        .build();
                Connection rival = database.connect()) {
            Lease lease = ((Claim.Acquired) store.claim(key, REQUEST, TERMS)).lease();
            rival.setAutoCommit(false);
            lease.confirm(rival);
            StoredResponse answer = StoredResponse.of(200, List.of(), Bytes.utf8("done"));

            assertThat(store.complete(lease, answer)).isEqualTo(Completion.DEFERRED);

            rival.commit();
            await().untilAsserted(
                            () -> assertThat(store.claim(key, REQUEST, TERMS)).isEqualTo(new Claim.Completed(answer)));
            await().until(() -> store.keeper().writes().size() == 0);
        }
    }

    // A default isolation above READ COMMITTED turns lost races into errors: they stay answers.
    @ParameterizedTest
    @ValueSource(strings = {"TRANSACTION_REPEATABLE_READ", "TRANSACTION_SERIALIZABLE"})
    void aStricterIsolationChangesNoAnswer(String isolation) throws Exception {
        HikariConfig config = new HikariConfig();
        config.setTransactionIsolation(isolation);
        try (Connection rival = rival();
                PostgresLeaseStore store = PostgresLeaseStore.builder(database.pool(2, config))
                        .lockTimeout(Duration.ofMinutes(1))
                        .timeout(Duration.ofMinutes(2))
                        .build()) {
            CompletableFuture<Claim> claim = CompletableFuture.supplyAsync(() -> store.claim(key, REQUEST, TERMS));
            awaitWaiting();

            rival.commit();

            assertThat(claim.get()).isEqualTo(RIVALS);
        }
    }
}
