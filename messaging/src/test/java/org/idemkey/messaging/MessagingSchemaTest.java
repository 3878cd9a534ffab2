// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class MessagingSchemaTest {

    @RegisterExtension
    static final TestDatabase DATABASE = new TestDatabase();

    @Test
    void anyNumberOfProcessesMayCreateItAtOnce() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(8);
        try {
            for (int round = 0; round < 5; round++) {
                DATABASE.update("DROP TABLE outbox, processed_message");
                List<Future<?>> creators = new ArrayList<>();
                for (int i = 0; i < 8; i++) {
                    creators.add(threads.submit(() -> {
                        MessagingSchema.create(DATABASE.pool());
                        return null;
                    }));
                }
                for (Future<?> creator : creators) {
                    creator.get(1, TimeUnit.MINUTES);
                }
            }
        } finally {
            threads.shutdownNow();
        }

        assertThat(DATABASE.list("SELECT to_regclass(name)::text FROM unnest(ARRAY['outbox', 'processed_message',"
                        + " 'outbox_unpublished', 'outbox_published_at', 'processed_message_processed_at']) AS name"))
                .doesNotContainNull();
    }

    @Test
    void creatingItAgainKeepsWhatIsThere() throws Exception {
        DATABASE.update("INSERT INTO processed_message VALUES ('ledger', 'm-1', now())");

        MessagingSchema.create(DATABASE.pool());

        assertThat(DATABASE.count("SELECT count(*) FROM processed_message")).isEqualTo(1);
    }
}
