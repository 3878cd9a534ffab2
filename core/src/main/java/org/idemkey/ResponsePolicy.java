// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import java.util.Set;

/**
 * Which answers are final: kept and replayed. Any other one frees the key, and the same request may run again.
 *
 * <p>Freeing a key says "this request did nothing". Say so only where it is certain.
 */
public interface ResponsePolicy {

    /** Whether an answer with this status is final. */
    boolean keepsStatus(int status);

    /** Whether a handler that threw has given its final answer (a 500). */
    boolean keepsException();

    /**
     * For handlers whose effects stand whatever becomes of the claim: 2xx, 3xx, 4xx and the ambiguous 5xx are final,
     * and so are exceptions, since nobody knows what had happened by then. 401, 403, 408, 425, 429 and 503 say that
     * nothing was done, and free the key. The default for such a store.
     */
    static ResponsePolicy ambiguityKept() {
        return Standard.AMBIGUITY_KEPT;
    }

    /**
     * For handlers whose effects are undone with the claim: 2xx, 3xx and 4xx are final, except 401, 403, 408, 425 and
     * 429; any 5xx and any exception undoes everything and frees the key. The default for a store that
     * {@linkplain IdempotencyStore#isTransactional() shares its transaction}.
     */
    static ResponsePolicy failuresUndone() {
        return Standard.FAILURES_UNDONE;
    }

    /** The two defaults. */
    enum Standard implements ResponsePolicy {
        /** See {@link ResponsePolicy#ambiguityKept()}. */
        AMBIGUITY_KEPT,
        /** See {@link ResponsePolicy#failuresUndone()}. */
        FAILURES_UNDONE;

        private static final Set<Integer> NOT_EXECUTED = Set.of(401, 403, 408, 425, 429, 503);

        @Override
        public boolean keepsStatus(int status) {
            return !NOT_EXECUTED.contains(status) && (status < 500 || this == AMBIGUITY_KEPT);
        }

        @Override
        public boolean keepsException() {
            return this == AMBIGUITY_KEPT;
        }
    }
}
