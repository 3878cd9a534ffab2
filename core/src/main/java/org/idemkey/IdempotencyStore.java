// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Keeps claims and responses. Thread-safe; never waits for another owner.
 *
 * <p>The store owns the clock: only durations cross this interface, and a claim and its expiry are judged by one clock
 * for all owners. {@code IdempotencyStoreContract} in the module {@code conformance} has the whole contract as tests.
 *
 * <p>Every method throws {@link IdempotencyStoreException} if the store can't be asked or doesn't answer in time.
 */
public interface IdempotencyStore {

    /**
     * Claims a key, or says why not. In this order: no row or an expired one is acquired; another fingerprint is
     * mismatched, in any state; a response is completed; a live lease is in progress; a lapsed one is an unknown
     * outcome. Of any number of claims at once, one is acquired.
     *
     * <p>A store whose lapsed claims certainly had no effect acquires those too, with {@code attempt + 1}.
     */
    Claim claim(IdempotencyKey key, Fingerprint fingerprint, Terms terms);

    /**
     * Claims a key whose outcome is unknown, with a new token and {@code attempt + 1}, if {@code stale} is still its
     * claim, lapsed and without the mark of {@link Lease#confirm}: one compare-and-set, so that of two takers one wins.
     * Otherwise it answers what {@link #claim} would find now.
     */
    Claim takeOver(Lease stale, Fingerprint fingerprint, Terms terms);

    /** Records the response, if the lease is still the key's claim and that is unfinished. */
    Completion complete(Lease lease, StoredResponse response);

    /**
     * Frees the key at once, for any fingerprint, if the lease is still its claim and that is unfinished.
     *
     * @return whether it was; if not, nothing has changed
     */
    boolean release(Lease lease);

    /**
     * Removes expired rows; never one that is still alive.
     *
     * @param limit how many at most, 1 or more
     * @return how many were removed
     */
    int purgeExpired(int limit);

    /**
     * Whether handlers' effects live in the store's own transaction: then they are real only once {@link #complete} has
     * said so, and {@link #release} undoes them. Otherwise they stand, whatever becomes of the claim.
     */
    default boolean isTransactional() {
        return false;
    }

    /** What became of a completion. */
    enum Completion {
        /** The response is recorded. */
        RECORDED,
        /** The store is away; the store goes on trying, and keeps the claim alive meanwhile. */
        DEFERRED,
        /** The claim isn't the lease's any more, or is finished: nothing was recorded. */
        LOST
    }

    /**
     * Makes a store from textual settings, such as the init parameters in a {@code web.xml}. Found by
     * {@link java.util.ServiceLoader}.
     */
    interface Provider {

        /**
         * A store by these settings, if they are meant for this provider.
         *
         * @param settings answers a setting's value, or null where it isn't set
         * @return a store, or null if the settings aren't meant for this provider
         * @throws IllegalArgumentException if they are, and one of them is wrong; the message names it
         */
        @Nullable
        IdempotencyStore create(UnaryOperator<@Nullable String> settings);
    }
}
