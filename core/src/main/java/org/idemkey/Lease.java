// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.UUID;

/**
 * The right to run the handler for one key, as long as nobody else has taken it over. What a store hands out with a
 * claim, and wants back with a completion or a release; its token tells this claim from every other of the same key.
 *
 * <p>Thread-safe.
 */
public interface Lease {

    /** The key that is claimed. */
    IdempotencyKey key();

    /** What tells this claim from any other: unique for each claim and each takeover. */
    UUID token();

    /** 1 for the first execution under this key, n + 1 where the n-th ended in an unknown outcome. */
    int attempt();

    /**
     * Makes the caller's own transaction depend on this claim: fails if the claim has been lost, and otherwise leaves
     * a mark in the same commit, so that whoever finds the lease lapsed knows that the effect is there.
     *
     * <p>Call it within the business transaction; nobody can take the key over between this call and the commit.
     *
     * @param connection the business transaction's connection, to the database that holds the keys
     * @throws LostException if the claim isn't this lease's any more: roll back
     * @throws SQLException if the database says so
     * @throws UnsupportedOperationException if the store can't share a transaction
     */
    default void confirm(Connection connection) throws SQLException {
        throw new UnsupportedOperationException("this store can't share a transaction");
    }

    /**
     * The transaction in which the response will be recorded, for a handler that works on another thread than the
     * request's. Its {@code commit} and {@code close} are the store's affair.
     *
     * @throws UnsupportedOperationException if the store doesn't share its transaction with the handler
     * @throws SQLException if no connection could be had
     */
    default Connection connection() throws SQLException {
        throw new UnsupportedOperationException("this store doesn't share its transaction with the handler");
    }

    /**
     * Ties the calling thread to this lease while the handler runs on it. Close the result on the same thread, always.
     */
    default Binding bind() {
        return Binding.NONE;
    }

    /**
     * Tells the lease that its handler will go on without the thread that it is tied to, as asynchronous ones do. Adapters
     * call it before that begins.
     *
     * @throws IllegalStateException if the handler's work could begin a transaction of its own there, and nobody has
     *     chosen what is to happen then; the message tells how to choose
     */
    default void detach() {}

    /** Ends what {@link Lease#bind()} began. */
    @FunctionalInterface
    interface Binding extends AutoCloseable {

        /** Ties nothing. */
        Binding NONE = () -> {};

        @Override
        void close();
    }

    /** The claim was taken over, freed or has expired, so whatever its owner was about to do must not be done. */
    final class LostException extends RuntimeException {

        private static final long serialVersionUID = 1L;

        public LostException(IdempotencyKey key) {
            super("the claim of key " + key + " is not ours any more");
        }
    }
}
