// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Renewal, mostly by hand: with leases of an hour the keeper's own thread doesn't get to it while a test runs. */
class RenewalTest {

    private static final Fingerprint REQUEST = Fingerprint.of("a request");
    private static final Terms TERMS = new Terms(Duration.ofHours(1), Duration.ofHours(24));
    private static final StoredResponse ANSWER = StoredResponse.of(200, List.of(), Bytes.utf8("done"));

    @RegisterExtension
    static final TestDatabase database = new TestDatabase();

    private final AtomicInteger failures = new AtomicInteger();
    private final ProbedDataSource wire = new ProbedDataSource(database.pool(), new ProbedDataSource.Probe() {
        @Override
        public void before(Connection connection, String sql) throws SQLException {
            if (sql.contains("unnest") && failures.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                throw ProbedDataSource.cut(connection);
            }
        }
    });
    private final PostgresLeaseStore store = PostgresLeaseStore.create(wire);
    private final PostgresLeaseStore peer = PostgresLeaseStore.create(database.pool());

    @AfterEach
    void close() {
        store.close();
        peer.close();
    }

    private static IdempotencyKey newKey() {
        return new IdempotencyKey(Scope.ANONYMOUS, UUID.randomUUID().toString());
    }

    private Lease acquire(IdempotencyKey key) {
        return ((Claim.Acquired) store.claim(key, REQUEST, TERMS)).lease();
    }

    private static Object minutesLeft(IdempotencyKey key) {
        return database.query(
                "SELECT CAST(round(extract(epoch FROM lease_until - now()) / 60) AS int) FROM idempotency_key"
                        + " WHERE key = ?",
                key.value());
    }

    private long renewalStatements() {
        return wire.statements().stream().filter(sql -> sql.contains("unnest")).count();
    }

    @Test
    void oneStatementRenewsEveryLeaseForItsOwnLength() throws Exception {
        List<IdempotencyKey> keys = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            keys.add(newKey());
            acquire(keys.get(i));
        }
        IdempotencyKey longer = newKey();
        store.claim(longer, REQUEST, new Terms(Duration.ofHours(2), Duration.ofHours(24)));
        database.elapse(Duration.ofMinutes(50));

        store.keeper().renewals().renew();

        assertThat(renewalStatements()).isEqualTo(1);
        assertThat(keys).allSatisfy(key -> assertThat(minutesLeft(key)).isEqualTo(60));
        assertThat(minutesLeft(longer)).isEqualTo(120);
    }

    // A pause of the whole process, for one, after which it is still the owner.
    @Test
    void aLapsedLeaseThatNobodyTookIsRevived() throws Exception {
        IdempotencyKey key = newKey();
        acquire(key);
        database.elapse(Duration.ofHours(2));
        assertThat(peer.claim(key, REQUEST, TERMS)).isInstanceOf(Claim.OutcomeUnknown.class);

        store.keeper().renewals().renew();

        assertThat(peer.claim(key, REQUEST, TERMS)).isInstanceOf(Claim.InProgress.class);
    }

    @Test
    void aLostLeaseIsDroppedAndNeverRenewedAgain() throws Exception {
        IdempotencyKey taken = newKey();
        IdempotencyKey completed = newKey();
        IdempotencyKey released = newKey();
        IdempotencyKey expired = newKey();
        IdempotencyKey kept = newKey();
        acquire(taken);
        Lease completing = acquire(completed);
        Lease releasing = acquire(released);
        acquire(expired);
        acquire(kept);
        database.elapse(TERMS.lease());
        Claim.OutcomeUnknown unknown = (Claim.OutcomeUnknown) peer.claim(taken, REQUEST, TERMS);
        peer.takeOver(unknown.stale(), REQUEST, TERMS);
        peer.complete(completing, ANSWER);
        peer.release(releasing);
        database.update("UPDATE idempotency_key SET expires_at = now() WHERE key = ?", expired.value());
        database.update(
                "UPDATE idempotency_key SET lease_until = now() + interval '7 min' WHERE key IN (?, ?)",
                taken.value(),
                expired.value());

        store.keeper().renewals().renew();

        assertThat(store.keeper().renewals().size()).isEqualTo(1);
        assertThat(minutesLeft(kept)).isEqualTo(60);
        assertThat(minutesLeft(taken)).isEqualTo(7);
        assertThat(minutesLeft(expired)).isEqualTo(7);
        assertThat(minutesLeft(completed)).isEqualTo(0);
        assertThat(minutesLeft(released)).isNull();
        assertThat(peer.claim(completed, REQUEST, TERMS)).isEqualTo(new Claim.Completed(ANSWER));
    }

    @Test
    void whatHasEndedIsNotRenewed() throws Exception {
        store.complete(acquire(newKey()), ANSWER);
        store.release(acquire(newKey()));

        store.keeper().renewals().renew();

        assertThat(renewalStatements()).isZero();
    }

    // A business transaction that has confirmed holds its row: the others must not wait for it, and it isn't lost.
    @Test
    void aLockedRowHoldsUpNoOtherLease() throws Exception {
        IdempotencyKey locked = newKey();
        IdempotencyKey other = newKey();
        Lease confirming = acquire(locked);
        acquire(other);
        database.elapse(Duration.ofMinutes(50));
        try (Connection business = database.connect()) {
            business.setAutoCommit(false);
            confirming.confirm(business);

            store.keeper().renewals().renew();

            assertThat(minutesLeft(other)).isEqualTo(60);
            assertThat(minutesLeft(locked)).isEqualTo(10);
            business.commit();
        }
        store.keeper().renewals().renew();
        assertThat(minutesLeft(locked)).isEqualTo(60);
        assertThat(store.complete(confirming, ANSWER)).isEqualTo(Completion.RECORDED);
    }

    @Test
    void theThreadRenewsByItself() {
        IdempotencyKey key = newKey();
        Terms brief = new Terms(Duration.ofMillis(200), Duration.ofHours(24));

        Lease lease = ((Claim.Acquired) store.claim(key, REQUEST, brief)).lease();

        awaitRenewalsOf(key, 5);
        assertThat(store.complete(lease, ANSWER)).isEqualTo(Completion.RECORDED);
    }

    @Test
    void theThreadGoesOnWhenTheDatabaseWasAway() {
        IdempotencyKey key = newKey();
        failures.set(3);

        store.claim(key, REQUEST, new Terms(Duration.ofMillis(200), Duration.ofHours(24)));

        await().until(() -> failures.get() == 0);
        awaitRenewalsOf(key, 5);
    }

    /** Until the lease is so many of its lengths past the claim. */
    private static void awaitRenewalsOf(IdempotencyKey key, int lengths) {
        await().until(() -> database.query(
                        "SELECT lease_until > created_at + ? * interval '200 ms' FROM idempotency_key WHERE key = ?",
                        lengths,
                        key.value())
                .equals(true));
    }

    @Test
    void aShorterLeaseThatComesLaterIsRenewedInTime() {
        store.claim(newKey(), REQUEST, TERMS);
        IdempotencyKey key = newKey();

        store.claim(key, REQUEST, new Terms(Duration.ofMillis(200), Duration.ofHours(24)));

        awaitRenewalsOf(key, 5);
    }

    @Test
    void closingEndsTheThreadAndLaterClaims() {
        Lease lease = acquire(newKey());
        Thread keeper = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread == store.keeper().thread())
                .findFirst()
                .orElseThrow();
        assertThat(keeper.isDaemon()).isTrue();

        store.close();
        store.close();

        assertThat(keeper.isAlive()).isFalse();
        assertThatThrownBy(() -> store.claim(newKey(), REQUEST, TERMS)).isInstanceOf(IdempotencyStoreException.class);
        assertThatThrownBy(() -> store.takeOver(lease, REQUEST, TERMS)).isInstanceOf(IdempotencyStoreException.class);
        // A request that is still running can record its answer.
        assertThat(store.complete(lease, ANSWER)).isEqualTo(Completion.RECORDED);
    }

    @Test
    void aStoreThatClaimsNothingHasNoThread() {
        store.purgeExpired(1);
        assertThat(store.keeper().thread()).isNull();
    }
}
