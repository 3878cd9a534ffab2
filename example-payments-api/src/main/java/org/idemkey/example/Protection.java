// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import javax.sql.DataSource;
import org.idemkey.Idempotency;
import org.idemkey.IdempotencyStore;
import org.idemkey.Terms;
import org.idemkey.postgres.ExpiryCleaner;
import org.idemkey.postgres.PostgresJoinedLeaseStore;
import org.idemkey.postgres.PostgresLeaseStore;
import org.idemkey.postgres.PostgresTransactionStore;
import org.jspecify.annotations.Nullable;

/**
 * What a mode means for the rest of the service.
 *
 * @param engine decides about repetitions; null if nothing does
 * @param dataSource where payments take their connections from: their transaction is the key's, if the mode has it so
 * @param ownTransactions whether payments commit by themselves
 */
record Protection(@Nullable Idempotency engine, DataSource dataSource, boolean ownTransactions) {

    /** Sets up a mode on a pool whose database has the key table. */
    static Protection of(IdempotencyMode mode, Terms terms, DataSource pool, Resources resources) {
        return switch (mode) {
            case SAME_TRANSACTION -> {
                PostgresTransactionStore store = PostgresTransactionStore.create(pool);
                yield new Protection(engine(store, terms, resources), store.dataSource(), false);
            }
            case JOINED_LEASE -> {
                PostgresJoinedLeaseStore store = resources.add(PostgresJoinedLeaseStore.create(pool));
                yield new Protection(engine(store, terms, resources), store.dataSource(), false);
            }
            case LEASE -> {
                PostgresLeaseStore store = resources.add(PostgresLeaseStore.create(pool));
                yield new Protection(engine(store, terms, resources), pool, true);
            }
            case UNPROTECTED -> new Protection(null, pool, true);
        };
    }

    private static Idempotency engine(IdempotencyStore store, Terms terms, Resources resources) {
        resources.add(ExpiryCleaner.start("idempotency_key", store::purgeExpired));
        return Idempotency.builder(store)
                // The only method that does anything here: a PATCH needs no key to be refused.
                .methods("POST")
                .lease(terms.lease())
                .retention(terms.retention())
                .build();
    }
}
