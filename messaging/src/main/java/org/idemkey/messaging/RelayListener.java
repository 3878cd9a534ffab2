// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import org.jspecify.annotations.Nullable;

/**
 * Is told what a relay does, for metrics and logs. Called on the relay's thread: be quick. What it throws is dropped.
 */
@FunctionalInterface
public interface RelayListener {

    /** What happened. */
    enum Event {
        /** An event is published, and marked so in the table. */
        PUBLISHED,
        /** An event wasn't acknowledged; it will be handed over again, and its aggregate waits meanwhile. */
        FAILED,
        /** The database could not be asked, or the marks not be written; what was published may be so again. */
        DATABASE_FAILED
    }

    /**
     * Something happened.
     *
     * @param message the event that it happened to; null for {@link Event#DATABASE_FAILED}
     * @param cause why; null for {@link Event#PUBLISHED}
     */
    void on(Event event, @Nullable OutboxEvent message, @Nullable Throwable cause);

    /** Ignores everything. */
    static RelayListener none() {
        return (event, message, cause) -> {};
    }
}
