// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.awaitility.Awaitility;
import org.idemkey.Bytes;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore.Completion;
import org.idemkey.IdempotencyStoreException;
import org.idemkey.Lease;
import org.idemkey.Scope;
import org.idemkey.StoredResponse;
import org.idemkey.Terms;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Line 42: a server that is really stopped and started again, one of its own whatever DATABASE_URL says. */
class StoppedServerTest {

    private static final Fingerprint REQUEST = Fingerprint.of("a request");
    private static final Terms TERMS = new Terms(Duration.ofSeconds(2), Duration.ofHours(24));
    private static final StoredResponse ANSWER = StoredResponse.of(200, List.of(), Bytes.utf8("done"));

    @TempDir
    Path data;

    @Test
    void whatWasDueWhileTheServerWasDownIsDoneOnceItIsBack() throws Exception {
        Awaitility.setDefaultTimeout(Duration.ofMinutes(2));
        IdempotencyKey completing = new IdempotencyKey(Scope.ANONYMOUS, "completing");
        IdempotencyKey releasing = new IdempotencyKey(Scope.ANONYMOUS, "releasing");
        IdempotencyKey running = new IdempotencyKey(Scope.ANONYMOUS, "running");
        IdempotencyKey other = new IdempotencyKey(Scope.ANONYMOUS, "other");
        EmbeddedPostgres server = start(0);
        int port = server.getPort();
        try (HikariDataSource pool = pool(port);
                PostgresLeaseStore store = PostgresLeaseStore.create(pool)) {
            PostgresSchema.create(pool);
            Lease completed = acquire(store, completing);
            Lease released = acquire(store, releasing);
            Lease stillRunning = acquire(store, running);

            server.close();
            assertThat(store.complete(completed, ANSWER)).isEqualTo(Completion.DEFERRED);
            assertThatThrownBy(() -> store.release(released)).isInstanceOf(IdempotencyStoreException.class);
            assertThatThrownBy(() -> store.claim(other, REQUEST, TERMS)).isInstanceOf(IdempotencyStoreException.class);
            server = start(port);

            await().until(() -> store.keeper().writes().size() == 0);
            assertThat(store.claim(completing, REQUEST, TERMS)).isEqualTo(new Claim.Completed(ANSWER));
            assertThat(acquire(store, releasing).attempt()).isEqualTo(1);
            assertThat(acquire(store, other).attempt()).isEqualTo(1);
            // Renewed through it all, or revived: nobody took it.
            await().until(() -> store.claim(running, REQUEST, TERMS) instanceof Claim.InProgress);
            assertThat(store.complete(stillRunning, ANSWER)).isEqualTo(Completion.RECORDED);
        } finally {
            server.close();
        }
    }

    private static Lease acquire(PostgresLeaseStore store, IdempotencyKey key) {
        return ((Claim.Acquired) store.claim(key, REQUEST, TERMS)).lease();
    }

    private EmbeddedPostgres start(int port) throws Exception {
        EmbeddedPostgres.Builder builder = EmbeddedPostgres.builder()
                .setDataDirectory(data)
                .setCleanDataDirectory(false)
                .setPGStartupWait(Duration.ofMinutes(2));
        if (port != 0) {
            builder.setPort(port);
        }
        return builder.start();
    }

    private static HikariDataSource pool(int port) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl("jdbc:postgresql://localhost:" + port + "/postgres");
        config.setUsername("postgres");
        config.setPassword("postgres");
        config.setMaximumPoolSize(4);
        config.setConnectionTimeout(3000);
        return new HikariDataSource(config);
    }
}
