// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.idemkey.postgres.Calls.answer;
import static org.jooq.impl.DSL.field;
import static org.jooq.impl.DSL.table;

import org.idemkey.IdempotencyKey;
import org.jooq.DSLContext;
import org.jooq.SQLDialect;
import org.jooq.exception.DataAccessException;
import org.jooq.impl.DSL;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** jOOQ's transactions within the request's, unchanged. */
class JooqTest {

    @RegisterExtension
    static final TestDatabase DATABASE = new TestDatabase();

    private static PostgresTransactionStore store;
    private static DSLContext jooq;

    private final IdempotencyKey key = Calls.newKey();
    private final Calls calls = new Calls(store);

    @BeforeAll
    static void create() {
        System.setProperty("org.jooq.no-logo", "true");
        System.setProperty("org.jooq.no-tips", "true");
        DATABASE.update("CREATE TABLE effect (name text PRIMARY KEY)");
        store = PostgresTransactionStore.create(DATABASE.pool());
        jooq = DSL.using(store.dataSource(), SQLDialect.POSTGRES);
    }

    @BeforeEach
    void empty() {
        DATABASE.update("DELETE FROM effect");
    }

    private static void insert(DSLContext context, String name) {
        context.insertInto(table("effect"), field("name")).values(name).execute();
    }

    private static String effects() {
        return (String) DATABASE.query("SELECT coalesce(string_agg(name, ' ' ORDER BY name), '') FROM effect");
    }

    @Test
    void effectAndKeyCommitTogether() throws Exception {
        calls.serve(key, context -> {
            jooq.transaction(transaction -> insert(transaction.dsl(), "a"));
            insert(jooq, "b");
            assertThat(jooq.fetchCount(table("effect"))).isEqualTo(2);
            assertThat(effects()).isEmpty();
            return answer(201);
        });

        assertThat(effects()).isEqualTo("a b");
        assertThat(calls.serve(key, context -> answer(500))).isEqualTo(answer(201));
    }

    @Test
    void aRollbackWithA402KeepsThe402AndNotTheEffect() throws Exception {
        calls.serve(key, context -> {
            assertThatExceptionOfType(IllegalStateException.class)
                    .isThrownBy(() -> jooq.transaction(transaction -> {
                        insert(transaction.dsl(), "a");
                        throw new IllegalStateException("declined");
                    }));
            return answer(402);
        });

        assertThat(effects()).isEmpty();
        assertThat(calls.serve(key, context -> answer(201))).isEqualTo(answer(402));
    }

    // jOOQ nests transactions by savepoints of its own.
    @Test
    void aNestedTransactionIsUndoneByItself() throws Exception {
        calls.serve(key, context -> {
            jooq.transaction(outer -> {
                insert(outer.dsl(), "a");
                assertThatExceptionOfType(DataAccessException.class)
                        .isThrownBy(() -> outer.dsl().transaction(inner -> {
                            insert(inner.dsl(), "b");
                            insert(inner.dsl(), "a");
                        }));
                outer.dsl().transaction(inner -> insert(inner.dsl(), "c"));
            });
            return answer(201);
        });

        assertThat(effects()).isEqualTo("a c");
    }

    @Test
    void anExceptionLeavesNothing() throws Exception {
        assertThatExceptionOfType(DataAccessException.class)
                .isThrownBy(() -> calls.serve(key, context -> {
                    insert(jooq, "a");
                    jooq.transaction(transaction -> insert(transaction.dsl(), "b"));
                    insert(jooq, "a");
                    return answer(201);
                }));

        assertThat(effects()).isEmpty();
        assertThat(calls.serve(key, context -> answer(201))).isEqualTo(answer(201));
    }
}
