// SPDX-License-Identifier: Apache-2.0
package org.idemkey.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.idemkey.Bytes;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore;
import org.idemkey.Lease;
import org.idemkey.Scope;
import org.idemkey.StoredResponse;
import org.idemkey.StoredResponse.Header;
import org.idemkey.Terms;

/** The store that a contract is about, what a test has to be able to do to it, and the words that the tests speak in. */
abstract class StoreUnderTest {

    static final Terms TERMS = new Terms(Duration.ofHours(1), Duration.ofHours(24));
    static final Fingerprint REQUEST = Fingerprint.of("POST /payments 1250");
    static final Fingerprint OTHER_REQUEST = Fingerprint.of("POST /payments 1251");

    /** What becomes of a claim whose owner gave no sign of life for the length of its lease. */
    public enum Lapse {
        /** Nobody knows what its handler did: {@link Claim.OutcomeUnknown}. */
        UNKNOWN,
        /** Its handler certainly left nothing behind: the next claim acquires the key with {@code attempt + 1}. */
        ACQUIRED,
        /** There is no such claim: an owner's end ends its claim, and a claim in flight is not even visible. */
        NEVER
    }

    /** The store; the same one for the length of a test. It doesn't renew leases while the test runs. */
    protected abstract IdempotencyStore store();

    /** Another instance on the same keys, as another process would have; by default the store itself. */
    protected IdempotencyStore peer() {
        return store();
    }

    /**
     * Lets time pass for all keys, without waiting: by a clock that ticks when told, or by moving the instants in the
     * store's rows back. Rows in flight need not move where {@link #lapse()} is {@link Lapse#NEVER}.
     */
    protected abstract void elapse(Duration time);

    /** What becomes of a lapsed claim; {@link Lapse#UNKNOWN} by default. */
    protected Lapse lapse() {
        return Lapse.UNKNOWN;
    }

    /**
     * Runs a transaction that does nothing but {@link Lease#confirm}, and commits it. By default the tests that need it
     * are skipped.
     *
     * @throws SQLException if the database says so; the transaction is rolled back then, as with any exception
     */
    protected void confirm(Lease lease) throws SQLException {
        abort("the store can't share a transaction, so nothing can be confirmed");
    }

    /**
     * A store on the same keys whose first write is done, though its answer is lost on the way back. By default the
     * tests that need it are skipped.
     */
    protected IdempotencyStore storeThatLosesItsFirstAnswer() {
        return abort("nothing lies between the caller and this store's keys, so no answer can be lost");
    }

    final void assumeLapsesAre(Lapse wanted, String reason) {
        assumeTrue(lapse() == wanted, reason);
    }

    final void assumeClaimsAreVisible() {
        assumeTrue(lapse() != Lapse.NEVER, "a claim in flight lives in its own transaction, out of time's reach");
    }

    /** A key that no other test has used, in the anonymous scope. */
    static IdempotencyKey newKey() {
        return new IdempotencyKey(Scope.ANONYMOUS, UUID.randomUUID().toString());
    }

    /** Claims for {@link #REQUEST}. */
    final Claim claim(IdempotencyKey key) {
        return store().claim(key, REQUEST, TERMS);
    }

    /** Claims a key that must be free. */
    final Lease acquire(IdempotencyKey key) {
        return leaseOf(claim(key));
    }

    /** Claims, falls silent for longer than the lease, and answers what the next claimant finds. */
    final Claim.OutcomeUnknown acquireAndLapse(IdempotencyKey key) {
        assumeLapsesAre(Lapse.UNKNOWN, "no lapsed claim of this store has an unknown outcome");
        acquire(key);
        elapse(TERMS.lease());
        return unknown(claim(key));
    }

    static Lease leaseOf(Claim claim) {
        assertThat(claim).isInstanceOf(Claim.Acquired.class);
        return ((Claim.Acquired) claim).lease();
    }

    static Claim.OutcomeUnknown unknown(Claim claim) {
        assertThat(claim).isInstanceOf(Claim.OutcomeUnknown.class);
        return (Claim.OutcomeUnknown) claim;
    }

    static StoredResponse answer(String body) {
        return StoredResponse.of(201, List.of(new Header("Content-Type", "text/plain")), Bytes.utf8(body));
    }
}
