// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.time.Duration;
import java.util.List;
import java.util.TimeZone;
import java.util.UUID;
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
import org.idemkey.postgres.PostgresClaims.KeyState;
import org.idemkey.postgres.PostgresClaims.State;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Case 13: a process died, and an operator has to find its claims and to free them. */
class PostgresClaimsTest {

    private static final Fingerprint REQUEST = Fingerprint.of("a request");
    private static final Terms TERMS = new Terms(Duration.ofHours(1), Duration.ofHours(24));
    private static final StoredResponse ANSWER = StoredResponse.of(201, List.of(), Bytes.utf8("done"));

    @RegisterExtension
    static final TestDatabase database = new TestDatabase();

    private final PostgresLeaseStore store = PostgresLeaseStore.create(database.pool());
    private final PostgresClaims claims = PostgresClaims.of(database.pool());
    private final IdempotencyKey key = newKey();

    private static IdempotencyKey newKey() {
        return new IdempotencyKey(
                Scope.caller("alice"), "'; -- " + UUID.randomUUID().toString());
    }

    @BeforeEach
    void empty() {
        database.update("DELETE FROM idempotency_key");
    }

    @AfterEach
    void close() {
        store.close();
    }

    private Lease acquire(IdempotencyKey key) {
        return ((Claim.Acquired) store.claim(key, REQUEST, TERMS)).lease();
    }

    private State state() {
        return claims.find(key).map(KeyState::state).orElseThrow();
    }

    @Test
    void aKeyIsFoundInEachOfItsStates() throws Exception {
        assertThat(claims.find(key)).isEmpty();

        Lease lease = acquire(key);
        KeyState inFlight = claims.find(key).orElseThrow();
        assertThat(inFlight.key()).isEqualTo(key);
        assertThat(inFlight.token()).isEqualTo(lease.token());
        assertThat(inFlight.state()).isEqualTo(State.IN_FLIGHT);
        assertThat(inFlight.attempt()).isEqualTo(1);
        assertThat(inFlight.effectConfirmed()).isFalse();
        assertThat(inFlight.status()).isEmpty();
        assertThat(inFlight.leaseUntil()).contains(inFlight.claimedAt().plus(TERMS.lease()));
        assertThat(inFlight.expiresAt()).isEqualTo(inFlight.claimedAt().plus(TERMS.retention()));

        database.elapse(TERMS.lease());
        assertThat(state()).isEqualTo(State.OUTCOME_UNKNOWN);
        try (Connection business = database.connect()) {
            business.setAutoCommit(false);
            lease.confirm(business);
            business.commit();
        }
        assertThat(claims.find(key).orElseThrow().effectConfirmed()).isTrue();
        database.update("UPDATE idempotency_key SET joined = true");
        assertThat(state()).as("confirmed").isEqualTo(State.OUTCOME_UNKNOWN);
        database.update("UPDATE idempotency_key SET confirmed = false");
        assertThat(state()).isEqualTo(State.ABANDONED);

        store.complete(lease, ANSWER);
        assertThat(state()).isEqualTo(State.COMPLETED);
        assertThat(claims.find(key).orElseThrow().status()).hasValue(201);

        database.elapse(TERMS.retention());
        assertThat(state()).isEqualTo(State.EXPIRED);
    }

    @Test
    void whatIsInFlightForTooLongIsListedTheOldestFirst() {
        IdempotencyKey oldest = newKey();
        IdempotencyKey older = newKey();
        IdempotencyKey completed = newKey();
        acquire(oldest);
        database.elapse(Duration.ofMinutes(50));
        acquire(older);
        store.complete(acquire(completed), ANSWER);
        database.elapse(Duration.ofMinutes(30));
        acquire(key);

        assertThat(claims.inFlightFor(Duration.ofMinutes(20), 10))
                .extracting(KeyState::key)
                .containsExactly(oldest, older);
        assertThat(claims.inFlightFor(Duration.ofMinutes(20), 1))
                .extracting(KeyState::state)
                .containsExactly(State.OUTCOME_UNKNOWN);
        assertThat(claims.inFlightFor(Duration.ZERO, 10)).hasSize(3);
        database.elapse(TERMS.retention());
        assertThat(claims.inFlightFor(Duration.ZERO, 10)).isEmpty();
    }

    @Test
    void anUnknownOutcomeIsFreedByKeyAndTokenOnly() {
        Lease lease = acquire(key);
        database.elapse(TERMS.lease());

        assertThat(claims.release(key, UUID.randomUUID())).isFalse();
        assertThat(claims.release(newKey(), lease.token())).isFalse();
        assertThat(store.claim(key, REQUEST, TERMS)).isInstanceOf(Claim.OutcomeUnknown.class);

        assertThat(claims.release(key, lease.token())).isTrue();
        assertThat(acquire(key).attempt()).isEqualTo(1);
        assertThat(store.complete(lease, ANSWER)).isEqualTo(Completion.LOST);
        assertThat(claims.release(key, lease.token())).isFalse();
    }

    @Test
    void whatHasRunIsNotFreed() {
        Lease lease = acquire(key);
        store.complete(lease, ANSWER);

        assertThat(claims.release(key, lease.token())).isFalse();

        assertThat(store.claim(key, REQUEST, TERMS)).isEqualTo(new Claim.Completed(ANSWER));
    }

    // Line 66.
    @Test
    void instantsAreTheDatabasesInAnyTimeZone() {
        acquire(key);
        KeyState here = claims.find(key).orElseThrow();
        TimeZone before = TimeZone.getDefault();
        try {
            TimeZone.setDefault(TimeZone.getTimeZone("Pacific/Kiritimati"));
            assertThat(claims.find(key)).contains(here);
        } finally {
            TimeZone.setDefault(before);
        }
    }

    @Test
    void anotherTableIsAskedIfNamed() {
        PostgresSchema.create(database.pool(), "other_keys");
        acquire(key);

        assertThat(PostgresClaims.of(database.pool(), "other_keys").find(key)).isEmpty();
        assertThatThrownBy(
                        () -> PostgresClaims.of(database.pool(), "missing_keys").find(key))
                .isInstanceOf(IdempotencyStoreException.class)
                .hasMessageContaining("42P01")
                .hasMessageNotContaining(key.value());
        assertThatThrownBy(() -> PostgresClaims.of(database.pool(), "a b"))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> claims.inFlightFor(Duration.ofMillis(-1), 1))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> claims.inFlightFor(Duration.ZERO, 0)).isInstanceOf(IllegalArgumentException.class);
    }
}
