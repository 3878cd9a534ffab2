// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.idemkey.postgres.Calls.answer;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.idemkey.IdempotencyKey;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Effects by plain JDBC, and what commits with the key. */
class JoinedDataSourceTest {

    @RegisterExtension
    static final TestDatabase DATABASE = new TestDatabase();

    private static PostgresTransactionStore store;
    private static JoinedDataSource joined;

    private final Calls calls = new Calls(store);
    private final IdempotencyKey key = Calls.newKey();

    @BeforeAll
    static void create() {
        DATABASE.update("CREATE TABLE effect (name text PRIMARY KEY)");
        store = PostgresTransactionStore.create(DATABASE.pool());
        joined = store.dataSource();
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

    private static void insert(String name) throws SQLException {
        try (Connection connection = joined.getConnection()) {
            insert(connection, name);
        }
    }

    private static void fail(Connection connection) {
        assertThatExceptionOfType(SQLException.class).isThrownBy(() -> {
            try (Statement statement = connection.createStatement()) {
                statement.execute("SELECT 1/0");
            }
        });
    }

    private static String effects() {
        return (String) DATABASE.query("SELECT coalesce(string_agg(name, ' ' ORDER BY name), '') FROM effect");
    }

    private long rows() {
        return (long) DATABASE.query("SELECT count(*) FROM idempotency_key WHERE key = ?", key.value());
    }

    @Test
    void effectAndKeyCommitTogether() throws Exception {
        calls.serve(key, context -> {
            insert("one");
            assertThat(effects()).isEmpty();
            assertThat(rows()).isZero();
            return answer(201);
        });

        assertThat(effects()).isEqualTo("one");
        assertThat(calls.serve(key, context -> answer(500))).isEqualTo(answer(201));
    }

    @Test
    void anExceptionLeavesNothingAndFreesTheKey() throws Exception {
        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(() -> calls.serve(key, context -> {
                    insert("one");
                    throw new IllegalStateException("after the effect");
                }));

        assertThat(effects()).isEmpty();
        assertThat(rows()).isZero();
        assertThat(calls.serve(key, context -> answer(201))).isEqualTo(answer(201));
    }

    // Line 32.
    @Test
    void aServerErrorLeavesNothingAndFreesTheKey() throws Exception {
        calls.serve(key, context -> {
            insert("one");
            return answer(502);
        });

        assertThat(effects()).isEmpty();
        assertThat(calls.serve(key, context -> answer(201))).isEqualTo(answer(201));
    }

    @Test
    void aRollbackWithA402KeepsThe402AndNotTheEffect() throws Exception {
        calls.serve(key, context -> {
            try (Connection connection = joined.getConnection()) {
                connection.setAutoCommit(false);
                insert(connection, "charged");
                connection.rollback();
            }
            return answer(402);
        });

        assertThat(effects()).isEmpty();
        assertThat(calls.serve(key, context -> answer(201))).isEqualTo(answer(402));
    }

    @Test
    void aFailedStatementThatNobodyRolledBackDoesNotSpoilThe402() throws Exception {
        calls.serve(key, context -> {
            Connection leaked = joined.getConnection();
            leaked.setAutoCommit(false);
            insert(leaked, "charged");
            fail(leaked);
            return answer(402);
        });

        assertThat(effects()).isEmpty();
        assertThat(calls.serve(key, context -> answer(201))).isEqualTo(answer(402));
    }

    @Test
    void aCommitIsDeferredAndOutlivesALaterRollback() throws Exception {
        calls.serve(key, context -> {
            try (Connection connection = joined.getConnection()) {
                connection.setAutoCommit(false);
                insert(connection, "kept");
                connection.commit();
                assertThat(effects()).isEmpty();
                insert(connection, "undone");
                connection.rollback();
                insert(connection, "kept too");
                connection.commit();
            }
            return answer(201);
        });

        assertThat(effects()).isEqualTo("kept kept too");
    }

    @Test
    void closingUndoesWhatWasNotCommitted() throws Exception {
        calls.serve(key, context -> {
            insert("before");
            try (Connection connection = joined.getConnection()) {
                connection.setAutoCommit(false);
                insert(connection, "forgotten");
            }
            insert("after");
            return answer(201);
        });

        assertThat(effects()).isEqualTo("after before");
    }

    @Test
    void whatWasNeverCommittedIsUndoneAtTheEnd() throws Exception {
        calls.serve(key, context -> {
            insert("before");
            Connection leaked = joined.getConnection();
            leaked.setAutoCommit(false);
            insert(leaked, "forgotten");
            return answer(201);
        });

        assertThat(effects()).isEqualTo("before");
    }

    @Test
    void inAutoCommitModeAFailedStatementTakesNothingElseAlong() throws Exception {
        calls.serve(key, context -> {
            try (Connection connection = joined.getConnection()) {
                assertThat(connection.getAutoCommit()).isTrue();
                insert(connection, "one");
                insert(connection, "two");
                assertThatExceptionOfType(SQLException.class).isThrownBy(() -> insert(connection, "one"));
                insert(connection, "three");
                fail(connection);
            }
            return answer(201);
        });

        assertThat(effects()).isEqualTo("one three two");
    }

    @Test
    void inAutoCommitModeTheVeryFirstStatementMayFail() throws Exception {
        calls.serve(key, context -> {
            try (Connection connection = joined.getConnection()) {
                fail(connection);
                insert(connection, "one");
            }
            return answer(201);
        });

        assertThat(effects()).isEqualTo("one");
    }

    @Test
    void otherwiseAFailedStatementSpoilsTheTransactionUntilItsRollback() throws Exception {
        calls.serve(key, context -> {
            insert("before");
            try (Connection connection = joined.getConnection()) {
                connection.setAutoCommit(false);
                insert(connection, "spoilt");
                fail(connection);
                assertThatExceptionOfType(SQLException.class)
                        .isThrownBy(() -> insert(connection, "too late"))
                        .extracting(SQLException::getSQLState)
                        .isEqualTo("25P02");
                connection.rollback();
                insert(connection, "again");
                connection.commit();
            }
            return answer(201);
        });

        assertThat(effects()).isEqualTo("again before");
    }

    @Test
    void committingASpoiltTransactionFailsAndUndoesIt() throws Exception {
        calls.serve(key, context -> {
            try (Connection connection = joined.getConnection()) {
                connection.setAutoCommit(false);
                insert(connection, "spoilt");
                fail(connection);
                assertThatExceptionOfType(SQLException.class)
                        .isThrownBy(connection::commit)
                        .extracting(SQLException::getSQLState)
                        .isEqualTo("25P02");
                insert(connection, "again");
                connection.commit();
            }
            return answer(201);
        });

        assertThat(effects()).isEqualTo("again");
    }

    // A mistake that the driver finds never reaches the server, so it spoils nothing.
    @Test
    void committingAfterAMistakeOnTheClientsSideSucceeds() throws Exception {
        calls.serve(key, context -> {
            try (Connection connection = joined.getConnection()) {
                connection.setAutoCommit(false);
                insert(connection, "one");
                try (PreparedStatement statement = connection.prepareStatement("INSERT INTO effect VALUES (?)")) {
                    assertThatExceptionOfType(SQLException.class).isThrownBy(statement::executeUpdate);
                }
                connection.commit();
            }
            return answer(201);
        });

        assertThat(effects()).isEqualTo("one");
    }

    @Test
    void aStatementThatTookTooLongDoesNotSpoilTheAnswer() throws Exception {
        calls.serve(key, context -> {
            insert("one");
            try (Connection connection = joined.getConnection();
                    Statement statement = connection.createStatement()) {
                statement.setQueryTimeout(1);
                assertThatExceptionOfType(SQLException.class)
                        .isThrownBy(() -> statement.execute("SELECT pg_sleep(600)"))
                        .extracting(SQLException::getSQLState)
                        .isEqualTo("57014");
            }
            return answer(424);
        });

        assertThat(effects()).isEqualTo("one");
        assertThat(calls.serve(key, context -> answer(201))).isEqualTo(answer(424));
    }

    // As a pool's connection: what has broken closes without another exception.
    @Test
    void closingABrokenConnectionIsQuiet() throws Exception {
        calls.serve(key, context -> {
            Connection connection = joined.getConnection();
            connection.setAutoCommit(false);
            insert(connection, "one");
            connection.setSchema("pg_catalog");
            DATABASE.query(
                    "SELECT pg_terminate_backend(?, 10000)",
                    ((TransactionLease) context.lease()).backend().pid());
            assertThatExceptionOfType(SQLException.class).isThrownBy(() -> insert(connection, "two"));
            connection.close();
            return answer(503);
        });

        assertThat(effects()).isEmpty();
    }

    @Test
    void savepointsWorkWithinATransaction() throws Exception {
        calls.serve(key, context -> {
            try (Connection connection = joined.getConnection()) {
                connection.setAutoCommit(false);
                insert(connection, "one");
                Savepoint savepoint = connection.setSavepoint("before two");
                insert(connection, "two");
                fail(connection);
                connection.rollback(savepoint);
                insert(connection, "three");
                Savepoint released = connection.setSavepoint();
                connection.releaseSavepoint(released);
                assertThatExceptionOfType(SQLException.class)
                        .isThrownBy(() -> connection.rollback(released))
                        .extracting(SQLException::getSQLState)
                        .isEqualTo("3B001");
                connection.commit();
                assertThatExceptionOfType(SQLException.class)
                        .isThrownBy(() -> connection.rollback(savepoint))
                        .extracting(SQLException::getSQLState)
                        .isEqualTo("3B001");
            }
            return answer(201);
        });

        assertThat(effects()).isEqualTo("one three");
    }

    @Test
    void switchingAutoCommitOnCommits() throws Exception {
        calls.serve(key, context -> {
            try (Connection connection = joined.getConnection()) {
                connection.setAutoCommit(false);
                insert(connection, "one");
                connection.setAutoCommit(true);
                connection.setAutoCommit(false);
                connection.rollback();
            }
            return answer(201);
        });

        assertThat(effects()).isEqualTo("one");
    }

    @Test
    void transactionMethodsNeedATransaction() throws Exception {
        calls.serve(key, context -> {
            try (Connection connection = joined.getConnection()) {
                assertThatExceptionOfType(SQLException.class).isThrownBy(connection::commit);
                assertThatExceptionOfType(SQLException.class).isThrownBy(connection::rollback);
                assertThatExceptionOfType(SQLException.class).isThrownBy(connection::setSavepoint);
                insert(connection, "one");
            }
            return answer(201);
        });

        assertThat(effects()).isEqualTo("one");
    }

    @Test
    void transactionsCannotBeControlledByText() throws Exception {
        calls.serve(key, context -> {
            try (Connection connection = joined.getConnection();
                    Statement statement = connection.createStatement()) {
                insert(connection, "one");
                for (String sql : new String[] {
                    "COMMIT",
                    " /* now */ commit work",
                    "-- x\nEND",
                    "begin",
                    "START TRANSACTION",
                    "rollback",
                    "ROLLBACK AND CHAIN",
                    "abort",
                    "PREPARE TRANSACTION 'x'",
                    ";COMMIT"
                }) {
                    assertThatExceptionOfType(SQLException.class)
                            .as(sql)
                            .isThrownBy(() -> statement.execute(sql))
                            .extracting(SQLException::getSQLState)
                            .isEqualTo("2D000");
                    assertThatExceptionOfType(SQLException.class).isThrownBy(() -> connection.prepareStatement(sql));
                    assertThatExceptionOfType(SQLException.class).isThrownBy(() -> statement.addBatch(sql));
                }
                connection.setAutoCommit(false);
                statement.execute("SAVEPOINT mine");
                statement.execute("ROLLBACK TO mine");
                statement.execute("ROLLBACK WORK TO SAVEPOINT mine");
                statement.execute("PREPARE one AS SELECT 1");
                connection.commit();
            }
            return answer(503);
        });

        assertThat(effects()).isEmpty();
    }

    // A transaction that was ended further on in a text: late protection is better than none.
    @Test
    void aTransactionThatWasEndedBehindOurBackIsRecordedAllTheSame() throws Exception {
        calls.serve(key, context -> {
            try (Connection connection = joined.getConnection();
                    Statement statement = connection.createStatement()) {
                statement.execute("INSERT INTO effect VALUES ('one'); COMMIT");
            }
            return answer(201);
        });

        assertThat(effects()).isEqualTo("one");
        assertThat(calls.serve(key, context -> answer(500))).isEqualTo(answer(201));
    }

    @Test
    void batchesJoinTheTransaction() throws Exception {
        calls.serve(key, context -> {
            try (Connection connection = joined.getConnection();
                    PreparedStatement statement = connection.prepareStatement("INSERT INTO effect VALUES (?)")) {
                for (String name : new String[] {"one", "two", "three"}) {
                    statement.setString(1, name);
                    statement.addBatch();
                }
                assertThat(statement.executeBatch()).containsExactly(1, 1, 1);
                for (String name : new String[] {"four", "two"}) {
                    statement.setString(1, name);
                    statement.addBatch();
                }
                assertThatExceptionOfType(SQLException.class).isThrownBy(statement::executeBatch);
            }
            return answer(201);
        });

        assertThat(effects()).isEqualTo("one three two");
    }

    @Test
    void updatableResultSetsJoinTheTransaction() throws Exception {
        DATABASE.update("INSERT INTO effect VALUES ('one')");
        calls.serve(key, context -> {
            try (Connection connection = joined.getConnection();
                    Statement statement =
                            connection.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE);
                    ResultSet rows = statement.executeQuery("SELECT name FROM effect")) {
                assertThat(rows.next()).isTrue();
                rows.updateString(1, "two");
                rows.updateRow();
                rows.moveToInsertRow();
                rows.updateString(1, "two");
                assertThatExceptionOfType(SQLException.class).isThrownBy(rows::insertRow);
            }
            return answer(201);
        });

        assertThat(effects()).isEqualTo("two");
    }

    private static void assertClosed(ThrowingCallable use) {
        assertThatExceptionOfType(SQLException.class)
                .isThrownBy(use)
                .extracting(SQLException::getSQLState)
                .isEqualTo("08003");
    }

    @Test
    void statementsAndResultsLeadBackToTheJoinedConnection() throws Exception {
        calls.serve(key, context -> {
            Connection connection = joined.getConnection();
            Statement statement = connection.createStatement();
            ResultSet rows = statement.executeQuery("SELECT 1");
            assertThat(rows.getStatement()).isSameAs(statement);
            assertThat(statement.getConnection()).isSameAs(connection);
            assertThat(connection.getMetaData().getConnection()).isSameAs(connection);
            ResultSet tables = connection.getMetaData().getTables(null, null, "effect", null);
            assertThat(tables.getStatement().getConnection()).isSameAs(connection);
            assertThat(connection)
                    .isEqualTo(rows.getStatement().getConnection())
                    .isNotEqualTo(joined.getConnection());

            connection.close();
            connection.close();

            assertThat(connection.isClosed()).isTrue();
            assertThat(connection.isValid(1)).isFalse();
            assertThat(statement.isClosed()).isTrue();
            assertThat(rows.isClosed()).isTrue();
            statement.close();
            rows.close();
            assertClosed(connection::createStatement);
            assertClosed(connection::getSchema);
            assertClosed(rows::next);
            assertClosed(() -> statement.execute("SELECT 1"));
            return answer(200);
        });
    }
}
