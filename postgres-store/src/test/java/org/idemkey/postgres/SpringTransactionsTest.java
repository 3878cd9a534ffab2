// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.idemkey.postgres.Calls.answer;

import javax.sql.DataSource;
import org.idemkey.IdempotencyKey;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.dao.DataAccessException;
import org.springframework.dao.DuplicateKeyException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionException;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionTemplate;

/** Spring's transactions within the request's: JdbcTemplate, TransactionTemplate and @Transactional, unchanged. */
class SpringTransactionsTest {

    @RegisterExtension
    static final TestDatabase DATABASE = new TestDatabase();

    private static PostgresTransactionStore store;
    private static AnnotationConfigApplicationContext spring;

    private final IdempotencyKey key = Calls.newKey();
    private final Calls calls = new Calls(store);
    private final JdbcTemplate jdbc = spring.getBean(JdbcTemplate.class);
    private final PlatformTransactionManager transactions = spring.getBean(PlatformTransactionManager.class);
    private final Payments payments = spring.getBean(Payments.class);

    @BeforeAll
    static void create() {
        DATABASE.update("CREATE TABLE effect (name text PRIMARY KEY)");
        store = PostgresTransactionStore.create(DATABASE.pool());
        spring = new AnnotationConfigApplicationContext(Application.class);
    }

    @AfterAll
    static void close() {
        spring.close();
    }

    @BeforeEach
    void empty() {
        DATABASE.update("DELETE FROM effect");
    }

    @Configuration
    @EnableTransactionManagement(proxyTargetClass = true)
    static class Application {

        @Bean
        DataSource dataSource() {
            return store.dataSource();
        }

        @Bean
        PlatformTransactionManager transactions(DataSource dataSource) {
            return new DataSourceTransactionManager(dataSource);
        }

        @Bean
        JdbcTemplate jdbc(DataSource dataSource) {
            return new JdbcTemplate(dataSource);
        }

        @Bean
        Payments payments(JdbcTemplate jdbc) {
            return new Payments(jdbc);
        }
    }

    /** A service as they are written everywhere. */
    static class Payments {

        private final JdbcTemplate jdbc;

        Payments(JdbcTemplate jdbc) {
            this.jdbc = jdbc;
        }

        @Transactional
        public void pay(String name) {
            insert(jdbc, name);
        }

        @Transactional
        public void payAndFail(String name) {
            insert(jdbc, name);
            throw new IllegalStateException("declined");
        }

        @Transactional(propagation = Propagation.REQUIRES_NEW)
        public void payByItself(String name) {
            insert(jdbc, name);
        }

        @Transactional(readOnly = true)
        public long count() {
            Long count = jdbc.queryForObject("SELECT count(*) FROM effect", Long.class);
            return count == null ? 0 : count;
        }

        @Transactional(readOnly = true)
        public void payWhileReading(String name) {
            insert(jdbc, name);
        }
    }

    private static void insert(JdbcTemplate jdbc, String name) {
        jdbc.update("INSERT INTO effect VALUES (?)", name);
    }

    private static String effects() {
        return (String) DATABASE.query("SELECT coalesce(string_agg(name, ' ' ORDER BY name), '') FROM effect");
    }

    @Test
    void effectAndKeyCommitTogether() throws Exception {
        calls.serve(key, context -> {
            payments.pay("a");
            insert(jdbc, "b");
            new TransactionTemplate(transactions).executeWithoutResult(status -> insert(jdbc, "c"));
            assertThat(payments.count()).isEqualTo(3);
            assertThat(effects()).isEmpty();
            return answer(201);
        });

        assertThat(effects()).isEqualTo("a b c");
        assertThat(calls.serve(key, context -> answer(500))).isEqualTo(answer(201));
    }

    @Test
    void aRollbackWithA402KeepsThe402AndNotTheEffect() throws Exception {
        calls.serve(key, context -> {
            assertThatExceptionOfType(IllegalStateException.class).isThrownBy(() -> payments.payAndFail("a"));
            new TransactionTemplate(transactions).executeWithoutResult(status -> {
                insert(jdbc, "b");
                status.setRollbackOnly();
            });
            return answer(402);
        });

        assertThat(effects()).isEmpty();
        assertThat(calls.serve(key, context -> answer(201))).isEqualTo(answer(402));
    }

    @Test
    void aViolatedConstraintWithA409KeepsThe409AndWhatWasCommitted() throws Exception {
        calls.serve(key, context -> {
            payments.pay("a");
            assertThatExceptionOfType(DuplicateKeyException.class).isThrownBy(() -> payments.pay("a"));
            assertThatExceptionOfType(DuplicateKeyException.class).isThrownBy(() -> insert(jdbc, "a"));
            payments.pay("b");
            return answer(409);
        });

        assertThat(effects()).isEqualTo("a b");
        assertThat(calls.serve(key, context -> answer(201))).isEqualTo(answer(409));
    }

    @Test
    void anExceptionLeavesNothing() throws Exception {
        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(() -> calls.serve(key, context -> {
                    payments.pay("a");
                    payments.payAndFail("b");
                    return answer(201);
                }));

        assertThat(effects()).isEmpty();
        assertThat(calls.serve(key, context -> answer(201))).isEqualTo(answer(201));
    }

    @Test
    void anInnerTransactionCommitsWithTheOuterOne() throws Exception {
        calls.serve(key, context -> {
            new TransactionTemplate(transactions).executeWithoutResult(status -> {
                insert(jdbc, "a");
                payments.payByItself("b");
                assertThatExceptionOfType(DuplicateKeyException.class).isThrownBy(() -> payments.payByItself("a"));
                insert(jdbc, "c");
            });
            return answer(201);
        });

        assertThat(effects()).isEqualTo("a b c");
    }

    // There is one transaction, so REQUIRES_NEW is nested in the outer one.
    @Test
    void anInnerTransactionGoesDownWithTheOuterOne() throws Exception {
        calls.serve(key, context -> {
            new TransactionTemplate(transactions).executeWithoutResult(status -> {
                insert(jdbc, "a");
                payments.payByItself("b");
                status.setRollbackOnly();
            });
            payments.pay("c");
            return answer(402);
        });

        assertThat(effects()).isEqualTo("c");
    }

    @Test
    void nestedTransactionsAreSavepoints() throws Exception {
        TransactionTemplate nested = new TransactionTemplate(transactions);
        nested.setPropagationBehavior(TransactionDefinition.PROPAGATION_NESTED);
        calls.serve(key, context -> {
            new TransactionTemplate(transactions).executeWithoutResult(status -> {
                insert(jdbc, "a");
                assertThatExceptionOfType(DuplicateKeyException.class)
                        .isThrownBy(() -> nested.executeWithoutResult(inner -> insert(jdbc, "a")));
                nested.executeWithoutResult(inner -> insert(jdbc, "b"));
            });
            return answer(201);
        });

        assertThat(effects()).isEqualTo("a b");
    }

    @Test
    void readOnlyTransactionsOnlyRead() throws Exception {
        calls.serve(key, context -> {
            payments.pay("a");
            assertThatExceptionOfType(DataAccessException.class).isThrownBy(() -> payments.payWhileReading("b"));
            payments.pay("c");
            return answer(201);
        });

        assertThat(effects()).isEqualTo("a c");
    }

    @Test
    void anotherIsolationLevelIsRefusedClearly() throws Exception {
        TransactionTemplate serializable = new TransactionTemplate(transactions);
        serializable.setIsolationLevel(TransactionDefinition.ISOLATION_SERIALIZABLE);
        calls.serve(key, context -> {
            assertThatExceptionOfType(TransactionException.class)
                    .isThrownBy(() -> serializable.executeWithoutResult(status -> insert(jdbc, "a")))
                    .havingRootCause()
                    .withMessageContaining("isolation level");
            return answer(422);
        });

        assertThat(effects()).isEmpty();
    }
}
