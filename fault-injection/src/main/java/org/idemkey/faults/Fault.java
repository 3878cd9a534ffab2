// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.time.Duration;
import java.util.Locale;

/**
 * One thing that goes wrong.
 *
 * @param at when, counted from the campaign's first request
 * @param kind what
 * @param instance which of the two instances it meets, 0 or 1
 * @param length how long it lasts, where it lasts
 * @param pick what else is to be chosen: a stage, a backend, a few milliseconds
 */
record Fault(Duration at, Kind kind, int instance, Duration length, int pick) {

    /** What can go wrong; a weight is a kind's share of all faults. */
    enum Kind {
        /** An instance is killed (SIGKILL) whatever it does. */
        KILL(7, 0, 0),
        /** … as a request has reached it: before the claim, or within it. */
        KILL_ON_REQUEST(5, 0, 0),
        /** … as one of its inserts is done and it doesn't know yet: claim, charge, payment, key row. */
        KILL_ON_INSERT(5, 0, 0),
        /** … as its database has committed, or updated a row, and it doesn't know yet. */
        KILL_ON_COMMIT(5, 0, 0),
        /** … as its answer is on its way. */
        KILL_ON_ANSWER(4, 0, 0),
        /** An instance is stopped (SIGSTOP) for longer than its lease, and goes on. */
        PAUSE(5, 2_500, 4_500),
        /** One of the service's PostgreSQL backends is terminated. */
        BACKEND(14, 0, 0),
        /** PostgreSQL is stopped in immediate mode, and started again after a while. */
        DATABASE(4, 0, 1_500),
        /** All connections from an instance to the database are reset. */
        CUT(9, 0, 0),
        /** One is reset as its insert is done, and nobody will say so. */
        CUT_ON_INSERT(7, 0, 0),
        /** One is reset as its transaction is committed, or a row updated, and nobody will say so. */
        CUT_ON_COMMIT(10, 0, 0),
        /** Nothing passes between an instance and the database, in both directions, and then all of it. */
        STALL(5, 300, 7_500),
        /** All that passes between an instance and the database is late. */
        DELAY(5, 500, 2_500),
        /** A client's connection is reset as its request has passed. */
        CLIENT_GONE(6, 0, 0),
        /** The answer is there, and its client's connection is reset before its first byte. */
        ANSWER_LOST(7, 0, 0),
        /** … within it. */
        ANSWER_TORN(7, 0, 0);

        final int weight;
        final Duration shortest;
        final Duration longest;

        Kind(int weight, long shortestMillis, long longestMillis) {
            this.weight = weight;
            this.shortest = Duration.ofMillis(shortestMillis);
            this.longest = Duration.ofMillis(longestMillis);
        }

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT).replace('_', '-');
        }
    }
}
