// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import javax.sql.DataSource;
import org.idemkey.messaging.IdempotentConsumer.Outcome;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.transaction.support.TransactionTemplate;

/** Consumer and outbox join transactions that Spring manages, whichever way a connection of theirs is had. */
class SpringTransactionsTest {

    @RegisterExtension
    static final TestDatabase DATABASE = new TestDatabase();

    private final IdempotentConsumer ledger = new IdempotentConsumer("ledger");
    private DataSource dataSource;
    private JdbcTemplate jdbc;
    private TransactionTemplate transaction;

    @BeforeEach
    void setUp() {
        DATABASE.clear();
        dataSource = DATABASE.pool();
        jdbc = new JdbcTemplate(dataSource);
        transaction = new TransactionTemplate(new DataSourceTransactionManager(dataSource));
    }

    @Test
    void consumerEffectAndEventCommitTogether() {
        assertThat(handle("m-1", false)).isEqualTo(Outcome.PROCESSED);
        assertThat(handle("m-1", false)).isEqualTo(Outcome.DUPLICATE);

        assertThat(DATABASE.list("SELECT message FROM effect")).containsExactly("m-1");
        assertThat(DATABASE.unpublished()).isEqualTo(1);
    }

    @Test
    void aRollbackLeavesNeitherMarkNorEffectNorEvent() {
        handle("m-1", true);

        assertThat(DATABASE.list("SELECT message FROM effect")).isEmpty();
        assertThat(DATABASE.unpublished()).isZero();
        assertThat(handle("m-1", false)).isEqualTo(Outcome.PROCESSED);
    }

    private Outcome handle(String key, boolean rollBack) {
        return transaction.execute(status -> {
            Connection connection = DataSourceUtils.getConnection(dataSource);
            try {
                Outcome outcome = ledger.consume(connection, key, c -> {
                    jdbc.update("INSERT INTO effect VALUES (?)", key);
                    Outbox.append(c, OutboxEvent.of("payment", key, "Booked", "{}"));
                });
                if (rollBack) {
                    status.setRollbackOnly();
                }
                return outcome;
            } catch (SQLException e) {
                throw new IllegalStateException(e);
            } finally {
                DataSourceUtils.releaseConnection(connection, dataSource);
            }
        });
    }

    @Test
    void aTransactionAwareDataSourceGivesTheSameConnection() {
        DataSource aware = new TransactionAwareDataSourceProxy(dataSource);
        IOException failure = new IOException("no effect");

        transaction.executeWithoutResult(status -> {
            try (Connection connection = aware.getConnection()) {
                ledger.consume(connection, "m-1", c -> jdbc.update("INSERT INTO effect VALUES ('m-1')"));
                assertThatThrownBy(() -> ledger.consume(connection, "m-2", c -> {
                            jdbc.update("INSERT INTO effect VALUES ('m-2')");
                            throw failure;
                        }))
                        .isSameAs(failure);
            } catch (SQLException e) {
                throw new IllegalStateException(e);
            }
            assertThat(DATABASE.list("SELECT message FROM effect"))
                    .as("before Spring commits")
                    .isEmpty();
        });

        assertThat(DATABASE.list("SELECT message FROM effect")).containsExactly("m-1");
        assertThat(DATABASE.list("SELECT message_key FROM processed_message")).containsExactly("m-1");
    }
}
