// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import java.sql.SQLException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import javax.sql.DataSource;
import org.apache.kafka.common.KafkaException;
import org.idemkey.messaging.KafkaMessagePublisher;
import org.idemkey.messaging.MessagePublisher;
import org.idemkey.messaging.OutboxEvent;
import org.idemkey.messaging.OutboxRelay;
import org.jspecify.annotations.Nullable;

/**
 * How events come from the outbox into the ledger: through Kafka if there is one, else straight, with the relay calling
 * the ledger. Nothing else in the service knows the difference.
 */
final class LedgerFeed {

    private LedgerFeed() {}

    /**
     * Starts it. The relay that it answers with is closed with the resources.
     *
     * @param pool the outbox's
     * @param kafka {@code host:port}, or several with commas; null for none
     * @throws StartupException if Kafka's client doesn't take them; a broker that is away is waited for
     */
    static OutboxRelay start(DataSource pool, Ledger ledger, @Nullable String kafka, Resources resources)
            throws StartupException {
        MessagePublisher publisher = event -> book(ledger, event);
        if (kafka != null) {
            try {
                publisher = resources.add(KafkaMessagePublisher.connect(kafka));
            } catch (KafkaException e) {
                Throwable cause = e.getCause() == null ? e : e.getCause();
                throw new StartupException("KAFKA_BOOTSTRAP_SERVERS can't be used: " + cause.getMessage(), e);
            }
            resources.add(KafkaLedgerConsumer.start(kafka, ledger));
        }
        return resources.add(OutboxRelay.builder(pool, publisher).start());
    }

    private static CompletionStage<?> book(Ledger ledger, OutboxEvent event) {
        try {
            ledger.book(event.id().toString(), event.eventType(), event.payload());
            return CompletableFuture.completedFuture(null);
        } catch (SQLException e) {
            return CompletableFuture.failedFuture(e);
        }
    }
}
