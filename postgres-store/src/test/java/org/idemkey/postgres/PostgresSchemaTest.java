// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class PostgresSchemaTest {

    @RegisterExtension
    static final TestDatabase database = new TestDatabase();

    @Test
    void creatingTwiceKeepsTheRows() {
        database.update("INSERT INTO idempotency_key (scope, key, request_hash, claim_token, expires_at)"
                + " VALUES ('a:', 'kept', 'h', gen_random_uuid(), now() + interval '1 hour')");

        PostgresSchema.create(database.pool());

        assertThat(database.query("SELECT count(*) FROM idempotency_key WHERE key = 'kept'"))
                .isEqualTo(1L);
    }

    @Test
    void manyProcessesMayCreateAtOnce() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(8);
        try {
            for (int round = 0; round < 10; round++) {
                String table = "at_once_" + round;
                CyclicBarrier start = new CyclicBarrier(8);
                List<Future<?>> all = new ArrayList<>();
                for (int i = 0; i < 8; i++) {
                    all.add(threads.submit(() -> {
                        start.await();
                        PostgresSchema.create(database.pool(), table);
                        return null;
                    }));
                }
                for (Future<?> one : all) {
                    one.get();
                }
                assertThat(database.query("SELECT count(*) FROM " + table)).isEqualTo(0L);
            }
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    void anotherNameMayBeQualifiedOrReserved() {
        database.update("CREATE SCHEMA other");

        PostgresSchema.create(database.pool(), "other.order");

        assertThat(database.query("SELECT count(*) FROM other.\"order\"")).isEqualTo(0L);
        assertThat(database.query("SELECT indexname FROM pg_indexes WHERE schemaname = 'other'"
                        + " AND indexname = 'order_expires_at'"))
                .isEqualTo("order_expires_at");
    }

    @Test
    void nothingButAPlainNameIsTaken() {
        for (String name :
                List.of("", "a.b.c", "A", "1a", "a b", "a\"b", "a;drop table b", ".a", "a.", "x".repeat(64))) {
            assertThatThrownBy(() -> PostgresSchema.create(database.pool(), name))
                    .as(name)
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }
}
