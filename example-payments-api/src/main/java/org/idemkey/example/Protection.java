// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import java.time.Duration;
import javax.sql.DataSource;
import org.idemkey.Idempotency;
import org.idemkey.IdempotencyListener;
import org.idemkey.IdempotencyStore;
import org.idemkey.Terms;
import org.idemkey.messaging.MessagingRetention;
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

    /** To look things up. */
    private static final Duration OUTBOX_RETENTION = Duration.ofDays(1);

    /** Far longer than Kafka keeps a topic's messages unless told otherwise, which is a week. */
    private static final Duration MESSAGE_RETENTION = Duration.ofDays(30);

    /**
     * Sets up a mode on a pool whose database has the key table.
     *
     * @param recorded called after each answer that was recorded, and so after the commit of what it tells of
     */
    static Protection of(IdempotencyMode mode, Terms terms, DataSource pool, Runnable recorded, Resources resources) {
        return switch (mode) {
            case SAME_TRANSACTION -> {
                PostgresTransactionStore store = PostgresTransactionStore.create(pool);
                yield new Protection(engine(store, terms, pool, recorded, resources), store.dataSource(), false);
            }
            case JOINED_LEASE -> {
                PostgresJoinedLeaseStore store = resources.add(PostgresJoinedLeaseStore.create(pool));
                yield new Protection(engine(store, terms, pool, recorded, resources), store.dataSource(), false);
            }
            case LEASE -> {
                PostgresLeaseStore store = resources.add(PostgresLeaseStore.create(pool));
                yield new Protection(engine(store, terms, pool, recorded, resources), pool, true);
            }
            case UNPROTECTED -> new Protection(null, pool, true);
        };
    }

    private static Idempotency engine(
            IdempotencyStore store, Terms terms, DataSource pool, Runnable recorded, Resources resources) {
        resources.add(ExpiryCleaner.builder()
                .purge("idempotency_key", store::purgeExpired)
                .purge("outbox", MessagingRetention.publishedEvents(pool, OUTBOX_RETENTION))
                .purge("processed_message", MessagingRetention.processedMessages(pool, MESSAGE_RETENTION))
                .start());
        return Idempotency.builder(store)
                // The only method that does anything here: a PATCH needs no key to be refused.
                .methods("POST")
                .lease(terms.lease())
                .retention(terms.retention())
                .listener((event, key, cause) -> {
                    if (event == IdempotencyListener.Event.RECORDED) {
                        recorded.run();
                    }
                })
                .build();
    }
}
