// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.idemkey.Bytes;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore.Completion;
import org.idemkey.Lease;
import org.idemkey.Scope;
import org.idemkey.StoredResponse;
import org.idemkey.StoredResponse.Header;
import org.idemkey.Terms;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** An answer that this very database will never take: here for a character that its encoding doesn't have. */
class RefusedAnswerTest {

    private static final Fingerprint REQUEST = Fingerprint.of("a request");
    private static final StoredResponse REFUSED =
            StoredResponse.of(200, List.of(new Header("X-Price", "5 \u20ac")), Bytes.utf8("done"));

    @RegisterExtension
    static final TestDatabase database = new TestDatabase("ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");

    // What can't be replayed must not run again either.
    @Test
    void leavesATombstone() {
        IdempotencyKey key = new IdempotencyKey(Scope.ANONYMOUS, "at once");
        try (PostgresLeaseStore store = PostgresLeaseStore.create(database.pool())) {
            Lease lease = ((Claim.Acquired) store.claim(key, REQUEST, Terms.defaults())).lease();

            assertThat(store.complete(lease, REFUSED)).isEqualTo(Completion.RECORDED);

            assertThat(store.claim(key, REQUEST, Terms.defaults()))
                    .isEqualTo(new Claim.Completed(StoredResponse.tombstone(200)));
        }
    }

    @Test
    void leavesATombstoneWhenItIsWrittenLate() {
        IdempotencyKey key = new IdempotencyKey(Scope.ANONYMOUS, "late");
        AtomicBoolean cut = new AtomicBoolean();
        ProbedDataSource wire = new ProbedDataSource(database.pool(), new ProbedDataSource.Probe() {
            @Override
            public void before(Connection connection, String sql) throws SQLException {
                if (cut.getAndSet(false)) {
                    throw ProbedDataSource.cut(connection);
                }
            }
        });
        try (PostgresLeaseStore store = PostgresLeaseStore.create(wire)) {
            Lease lease = ((Claim.Acquired) store.claim(key, REQUEST, Terms.defaults())).lease();
            cut.set(true);

            assertThat(store.complete(lease, REFUSED)).isEqualTo(Completion.DEFERRED);

            await().untilAsserted(() -> assertThat(store.claim(key, REQUEST, Terms.defaults()))
                    .isEqualTo(new Claim.Completed(StoredResponse.tombstone(200))));
        }
    }
}
