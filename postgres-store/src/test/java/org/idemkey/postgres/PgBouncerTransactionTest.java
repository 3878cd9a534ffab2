// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.idemkey.postgres.Calls.answer;

import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore;
import org.idemkey.conformance.IdempotencyStoreContract;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Line 66: the contract behind a transaction-pooling PgBouncer, with auto-commit on and off. */
class PgBouncerTransactionTest extends IdempotencyStoreContract {

    @RegisterExtension
    @Order(1)
    static final TestDatabase database = new TestDatabase();

    @RegisterExtension
    @Order(2)
    static final PgBouncer bouncer = new PgBouncer(database);

    private static PostgresTransactionStore store;
    private static PostgresTransactionStore peer;

    @BeforeAll
    static void open() {
        store = PostgresTransactionStore.create(bouncer.pool(48, true));
        peer = PostgresTransactionStore.create(bouncer.pool(48, false));
    }

    @Override
    protected IdempotencyStore store() {
        return store;
    }

    @Override
    protected IdempotencyStore peer() {
        return peer;
    }

    @Override
    protected void elapse(Duration time) {
        database.elapse(time);
    }

    @Override
    protected Lapse lapse() {
        return Lapse.NEVER;
    }

    // The proxy's connections outlive their clients': what ends a request's transaction must reach the server.
    @Test
    void aClientThatGoesAwayLeavesNothing() throws Exception {
        database.update("CREATE TABLE effect (name text)");
        IdempotencyKey key = Calls.newKey();
        Calls calls = new Calls(store);

        calls.serve(key, context -> {
            try (Connection connection = store.dataSource().getConnection();
                    Statement statement = connection.createStatement()) {
                statement.execute("INSERT INTO effect VALUES ('gone')");
                connection.abort(Runnable::run);
            }
            return answer(201);
        });

        await().until(() -> calls.serve(key, context -> answer(202)), answer(202)::equals);
        assertThat(database.query("SELECT count(*) FROM effect")).isEqualTo(0L);
    }
}
