// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.idemkey.postgres.Calls.answer;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Savepoint;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Two connections of one request at once, as by Spring's REQUIRES_NEW: nested units of work in one transaction. */
class NestedConnectionsTest {

    @RegisterExtension
    static final TestDatabase DATABASE = new TestDatabase();

    private static PostgresTransactionStore store;

    @BeforeAll
    static void create() {
        DATABASE.update("CREATE TABLE effect (name text PRIMARY KEY)");
        store = PostgresTransactionStore.create(DATABASE.pool());
    }

    @BeforeEach
    void empty() {
        DATABASE.update("DELETE FROM effect");
    }

    private static void insert(Connection connection, String name) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement("INSERT INTO effect VALUES (?)")) {
            statement.setString(1, name);
            statement.executeUpdate();
        }
    }

    private static String effects() {
        return (String) DATABASE.query("SELECT coalesce(string_agg(name, ' ' ORDER BY name), '') FROM effect");
    }

    /** What a handler does with two connections, both in transactions. */
    @FunctionalInterface
    private interface Use {
        void on(Connection outer, Connection inner) throws SQLException;
    }

    private static void serve(Use use) throws Exception {
        new Calls(store).serve(Calls.newKey(), context -> {
            try (Connection outer = store.dataSource().getConnection();
                    Connection inner = store.dataSource().getConnection()) {
                outer.setAutoCommit(false);
                inner.setAutoCommit(false);
                use.on(outer, inner);
            }
            return answer(201);
        });
    }

    @Test
    void bothCommit() throws Exception {
        serve((outer, inner) -> {
            insert(outer, "a");
            insert(inner, "b");
            inner.commit();
            insert(outer, "c");
            outer.commit();
            insert(inner, "d");
            inner.commit();
        });

        assertThat(effects()).isEqualTo("a b c d");
    }

    @Test
    void theInnerOnesRollbackLeavesTheOuterOnesWork() throws Exception {
        serve((outer, inner) -> {
            insert(outer, "a");
            insert(inner, "b");
            inner.rollback();
            insert(outer, "c");
            insert(inner, "d");
            inner.rollback();
            outer.commit();
        });

        assertThat(effects()).isEqualTo("a c");
    }

    @Test
    void theOuterOnesRollbackTakesTheInnerOnesWorkAlong() throws Exception {
        serve((outer, inner) -> {
            insert(outer, "a");
            insert(inner, "b");
            inner.commit();
            outer.rollback();
            insert(inner, "c");
            inner.commit();
        });

        assertThat(effects()).isEqualTo("c");
    }

    @Test
    void whoseWorkWasTakenAlongUncommittedGetsToKnow() throws Exception {
        serve((outer, inner) -> {
            insert(outer, "a");
            insert(inner, "b");
            outer.rollback();
            assertThatExceptionOfType(SQLException.class).isThrownBy(() -> insert(inner, "c"));
            assertThatExceptionOfType(SQLException.class).isThrownBy(inner::commit);
            inner.rollback();
            insert(inner, "d");
            inner.commit();
        });

        assertThat(effects()).isEqualTo("d");
    }

    @Test
    void theOuterOneCannotWorkWhileTheInnerOneIsUncommitted() throws Exception {
        serve((outer, inner) -> {
            insert(outer, "a");
            insert(inner, "b");
            assertThatExceptionOfType(SQLException.class)
                    .isThrownBy(() -> insert(outer, "c"))
                    .extracting(SQLException::getSQLState)
                    .isEqualTo("25001");
            inner.commit();
            insert(outer, "d");
            outer.commit();
        });

        assertThat(effects()).isEqualTo("a b d");
    }

    @Test
    void theOuterOneMayCommitWhileTheInnerOneIsUncommitted() throws Exception {
        serve((outer, inner) -> {
            insert(outer, "a");
            insert(inner, "b");
            outer.commit();
            insert(inner, "c");
            inner.rollback();
            insert(outer, "d");
            outer.commit();
        });

        assertThat(effects()).isEqualTo("a d");
    }

    @Test
    void aSavepointOfTheOuterOneTakesTheInnerOnesWorkAlong() throws Exception {
        serve((outer, inner) -> {
            insert(outer, "a");
            Savepoint savepoint = outer.setSavepoint();
            insert(inner, "b");
            inner.commit();
            insert(inner, "c");
            outer.rollback(savepoint);
            assertThatExceptionOfType(SQLException.class).isThrownBy(inner::commit);
            inner.rollback();
            insert(outer, "d");
            outer.commit();
        });

        assertThat(effects()).isEqualTo("a d");
    }

    @Test
    void theInnerOneMayReadOnlyWhileTheOuterOneWrites() throws Exception {
        serve((outer, inner) -> {
            insert(outer, "a");
            inner.setReadOnly(true);
            assertThatExceptionOfType(SQLException.class).isThrownBy(() -> insert(inner, "b"));
            inner.rollback();
            inner.createStatement().execute("SELECT 1");
            inner.commit();
            insert(outer, "c");
            outer.commit();
        });

        assertThat(effects()).isEqualTo("a c");
    }

    @Test
    void statementsInAutoCommitModeStandWithinTheOuterOne() throws Exception {
        serve((outer, inner) -> {
            insert(outer, "a");
            inner.setAutoCommit(true);
            insert(inner, "b");
            assertThatExceptionOfType(SQLException.class).isThrownBy(() -> insert(inner, "a"));
            insert(inner, "c");
            insert(outer, "d");
            outer.commit();
        });

        assertThat(effects()).isEqualTo("a b c d");
    }
}
