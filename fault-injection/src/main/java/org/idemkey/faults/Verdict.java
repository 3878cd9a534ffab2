// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.util.Set;

/** What an answer means to a client that follows the README. */
enum Verdict {
    /** Final: it will be the same from now on. */
    KEPT,
    /** Nothing is final yet: in flight, not executed, or undone. Send it again. */
    AGAIN,
    /** Nobody knows how it ended, and it isn't executed again. */
    UNKNOWN,
    /** The key belongs to another request. */
    REUSED,
    /** Nothing that an honest client should ever meet. */
    WRONG;

    private static final String PROBLEMS = "https://idemkey.org/problems/";

    /** Say that nothing was done (README, "What is kept"). */
    private static final Set<Integer> NOT_EXECUTED = Set.of(401, 403, 408, 425, 429, 503);

    /** Judges an answer by its problem type first, then by marker and status. */
    static Verdict of(Answer answer, Mode mode) {
        String type = answer.status() < 400 ? "" : answer.member("type").orElse("");
        if (type.startsWith(PROBLEMS)) {
            return switch (type.substring(PROBLEMS.length())) {
                case "in-progress", "store-unavailable" -> AGAIN;
                case "outcome-unknown" -> UNKNOWN;
                case "key-reused" -> REUSED;
                default -> WRONG;
            };
        }
        if (answer.isReplay()) {
            return KEPT;
        }
        if (NOT_EXECUTED.contains(answer.status()) || (answer.status() >= 500 && !mode.keepsFailures())) {
            return AGAIN;
        }
        return KEPT;
    }
}
