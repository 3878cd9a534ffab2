// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.idemkey.Bytes;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore.Completion;
import org.idemkey.Lease;
import org.idemkey.Scope;
import org.idemkey.StoredResponse;
import org.idemkey.Terms;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class KeeperLogTest {

    @RegisterExtension
    static final TestDatabase database = new TestDatabase();

    private final Logger logger = Logger.getLogger(Keeper.class.getName());
    private final Queue<String> logged = new ConcurrentLinkedQueue<>();
    private final Handler handler = new Handler() {
        @Override
        public void publish(LogRecord message) {
            StringWriter text = new StringWriter();
            text.append(message.getMessage()).append('\n');
            if (message.getThrown() != null) {
                message.getThrown().printStackTrace(new PrintWriter(text, true));
            }
            logged.add(text.toString());
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    };

    // Line 68.
    @Test
    void aRefusedRecordingIsLoggedWithoutKeyAndBody() {
        database.update("ALTER TABLE idempotency_key ADD CONSTRAINT refusal CHECK (response_code <> 418)");
        logger.addHandler(handler);
        try (PostgresLeaseStore store = PostgresLeaseStore.create(database.pool())) {
            IdempotencyKey key = new IdempotencyKey(Scope.ANONYMOUS, "a-key-that-nobody-may-read");
            Lease lease = ((Claim.Acquired) store.claim(key, Fingerprint.of("a request"), Terms.defaults())).lease();

            Completion completion = store.complete(lease, StoredResponse.of(418, List.of(), Bytes.utf8("secret")));

            assertThat(completion).isEqualTo(Completion.DEFERRED);
            await().until(() -> logged.stream().anyMatch(text -> text.contains("SQLSTATE 23514")));
            assertThat(logged).noneMatch(text -> text.contains(key.value()) || text.contains("736563726574"));
        } finally {
            logger.removeHandler(handler);
        }
    }
}
