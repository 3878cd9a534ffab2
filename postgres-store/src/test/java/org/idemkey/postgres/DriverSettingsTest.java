// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.idemkey.postgres.Calls.answer;

import com.zaxxer.hikari.HikariConfig;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import org.idemkey.Claim;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore.Completion;
import org.idemkey.Lease;
import org.idemkey.Terms;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The driver's settings that change how statements travel, and what a failed one leaves: none of them breaks a promise. */
class DriverSettingsTest {

    @RegisterExtension
    static final TestDatabase DATABASE = new TestDatabase();

    private final IdempotencyKey key = Calls.newKey();

    @BeforeAll
    static void create() {
        DATABASE.update("CREATE TABLE effect (key text, name text, UNIQUE (key, name))");
    }

    private void insert(Connection connection, String name) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement("INSERT INTO effect VALUES (?, ?)")) {
            statement.setString(1, key.value());
            statement.setString(2, name);
            statement.executeUpdate();
        }
    }

    private Object effects() {
        return DATABASE.query("SELECT string_agg(name, ' ' ORDER BY name) FROM effect WHERE key = ?", key.value());
    }

    @ParameterizedTest
    @CsvSource({
        "autosave, always",
        "autosave, conservative",
        "preferQueryMode, simple",
        "preferQueryMode, extendedForPrepared",
        "preferQueryMode, extendedCacheEverything",
        "prepareThreshold, 0",
        "prepareThreshold, 1",
        "prepareThreshold, -1",
        "defaultRowFetchSize, 1",
        "cleanupSavepoints, true"
    })
    void effectsKeysAndRollbacksAreWhatTheyAre(String setting, String value) throws Exception {
        HikariConfig config = new HikariConfig();
        config.addDataSourceProperty(setting, value);
        PostgresTransactionStore store = PostgresTransactionStore.builder(DATABASE.pool(4, config))
                .locks(AdvisoryLocks.ABSENT)
                .build();
        Calls calls = new Calls(store);

        calls.serve(key, context -> {
            try (Connection connection = store.dataSource().getConnection()) {
                insert(connection, "a");
                insert(connection, "b");
                assertThatExceptionOfType(SQLException.class).isThrownBy(() -> insert(connection, "a"));
                connection.setAutoCommit(false);
                insert(connection, "c");
                connection.commit();
                insert(connection, "d");
                assertThatExceptionOfType(SQLException.class).isThrownBy(() -> insert(connection, "a"));
                connection.rollback();
            }
            return answer(402);
        });

        assertThat(effects()).isEqualTo("a b c");
        assertThat(calls.serve(key, context -> answer(201))).isEqualTo(answer(402));
    }

    @ParameterizedTest
    @CsvSource({"autosave, always", "preferQueryMode, simple", "preferQueryMode, extended"})
    void whoLosesToThePrimaryKeyIsUndone(String setting, String value) throws Exception {
        HikariConfig config = new HikariConfig();
        config.addDataSourceProperty(setting, value);
        PostgresTransactionStore store = PostgresTransactionStore.builder(DATABASE.pool(4, config))
                .locks(AdvisoryLocks.ABSENT)
                .build();
        Lease one = ((Claim.Acquired) store.claim(key, Calls.REQUEST, Terms.defaults())).lease();
        Lease other = ((Claim.Acquired) store.claim(key, Calls.REQUEST, Terms.defaults())).lease();
        insert(one.connection(), "one");
        insert(other.connection(), "other");

        assertThat(store.complete(one, answer(201))).isEqualTo(Completion.RECORDED);
        assertThat(store.complete(other, answer(202))).isEqualTo(Completion.LOST);

        assertThat(effects()).isEqualTo("one");
    }

    @ParameterizedTest
    @CsvSource({"autosave, always", "preferQueryMode, simple", "preferQueryMode, extended"})
    void whoLosesItsJoinedLeaseIsUndone(String setting, String value) throws Exception {
        HikariConfig config = new HikariConfig();
        config.addDataSourceProperty(setting, value);
        try (PostgresJoinedLeaseStore store = PostgresJoinedLeaseStore.create(DATABASE.pool(4, config))) {
            Lease one = ((Claim.Acquired) store.claim(key, Calls.REQUEST, Terms.defaults())).lease();
            insert(one.connection(), "one");
            DATABASE.elapse(Terms.defaults().lease());
            Lease other = ((Claim.Acquired) store.claim(key, Calls.REQUEST, Terms.defaults())).lease();
            insert(other.connection(), "other");

            assertThat(store.complete(one, answer(201))).isEqualTo(Completion.LOST);
            assertThat(store.complete(other, answer(202))).isEqualTo(Completion.RECORDED);
        }

        assertThat(effects()).isEqualTo("other");
    }
}
