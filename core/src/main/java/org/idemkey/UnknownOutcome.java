// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import static java.util.Objects.requireNonNull;

import org.jspecify.annotations.Nullable;

/** What to do when an owner let its lease lapse, so that nobody knows whether the effect happened. */
public sealed interface UnknownOutcome {

    /** Nothing runs again: 409 {@code outcome-unknown} until the key expires or an operator frees it. The default. */
    static UnknownOutcome reject() {
        return Reject.INSTANCE;
    }

    /**
     * Run again, with {@code attempt = n + 1}: the explicit choice to risk a second effect, for handlers that are
     * idempotent by themselves. Where the first owner's transaction left its mark it is known to have taken effect, so
     * even then nothing runs again.
     */
    static UnknownOutcome rerun() {
        return Rerun.INSTANCE;
    }

    /** Ask the application, which may know from its own books. */
    static UnknownOutcome reconcile(Reconciler reconciler) {
        return new Reconcile(requireNonNull(reconciler, "reconciler"));
    }

    /** See {@link #reject()}. */
    final class Reject implements UnknownOutcome {
        private static final Reject INSTANCE = new Reject();

        private Reject() {}
    }

    /** See {@link #rerun()}. */
    final class Rerun implements UnknownOutcome {
        private static final Rerun INSTANCE = new Rerun();

        private Rerun() {}
    }

    /** See {@link #reconcile(Reconciler)}. */
    record Reconcile(Reconciler reconciler) implements UnknownOutcome {}

    /** Finds out in the application's own books what became of an execution. Called on the request's thread. */
    @FunctionalInterface
    interface Reconciler {

        /**
         * Looks the execution up.
         *
         * @param unknown the lapsed claim, and whether its transaction left its mark
         * @return what the books say; an exception counts as {@link Finding#stillUnknown()}
         */
        Finding reconcile(Claim.OutcomeUnknown unknown);
    }

    /** What a {@link Reconciler} found out. */
    final class Finding {

        private static final Finding NOT_EXECUTED = new Finding(null);
        private static final Finding STILL_UNKNOWN = new Finding(null);

        private final @Nullable StoredResponse response;

        private Finding(@Nullable StoredResponse response) {
            this.response = response;
        }

        /** It happened, and this is its answer: it is recorded and given to this and any later repetition. */
        public static Finding executed(StoredResponse response) {
            return new Finding(requireNonNull(response, "response"));
        }

        /** It certainly did not happen: run it. */
        public static Finding notExecuted() {
            return NOT_EXECUTED;
        }

        /** The books can't tell: as {@link UnknownOutcome#reject()}. */
        public static Finding stillUnknown() {
            return STILL_UNKNOWN;
        }

        @Nullable
        StoredResponse response() {
            return response;
        }

        boolean isNotExecuted() {
            return this == NOT_EXECUTED;
        }
    }
}
