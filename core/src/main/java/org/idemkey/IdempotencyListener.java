// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import org.jspecify.annotations.Nullable;

/**
 * Is told what happens, for metrics and logs. Called on the request's thread; an exception from it is swallowed, so
 * that watching never changes what is watched.
 */
@FunctionalInterface
public interface IdempotencyListener {

    /**
     * Something has happened to a request.
     *
     * @param key null where no key could be read; its {@code toString()} may go into a log, its value should not
     * @param cause what went wrong, the handler's own exception included; null where nothing did
     */
    void on(Event event, @Nullable IdempotencyKey key, @Nullable Throwable cause);

    /** A listener that hears nothing. */
    static IdempotencyListener none() {
        return (event, key, cause) -> {};
    }

    /** What can happen. */
    enum Event {
        /** The request has no key, though one is required. */
        KEY_MISSING,
        /** The header holds no valid key. */
        KEY_INVALID,
        /** The request body is over the limit. */
        BODY_TOO_LARGE,
        /** The key is claimed and the handler runs. */
        CLAIMED,
        /** An unknown outcome was taken over and the handler runs again, by choice. */
        TAKEN_OVER,
        /** The first answer was given again. */
        REPLAYED,
        /** The request has run, but its answer could not be kept. */
        NOT_REPLAYABLE,
        /** The key belongs to another request. */
        MISMATCHED,
        /** The same request is in flight. */
        IN_PROGRESS,
        /** An owner disappeared; nothing ran. */
        OUTCOME_UNKNOWN,
        /** The response is recorded. */
        RECORDED,
        /** The store is away; it will record the response later. */
        RECORDING_DEFERRED,
        /** The response could not be recorded, and won't be. */
        RECORDING_FAILED,
        /** The answer was not final, so the key is free again. */
        RELEASED,
        /** The claim was lost before it ended. */
        CLAIM_LOST,
        /** The store could not be asked. */
        STORE_UNAVAILABLE
    }
}
