// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/** How the sample API keeps its promise; each one's name is a value of its {@code IDEMPOTENCY_MODE}. */
enum Mode {
    /** Key, effect and answer in one transaction. */
    SAME_TRANSACTION,
    /** The claim first, effect and answer in one transaction later. */
    JOINED_LEASE,
    /** Claim, effect and answer in transactions of their own. */
    LEASE,
    /** No promise at all: shows that the campaign finds what is to be found. */
    UNPROTECTED;

    /** The mode of that name, as on the command line. */
    static Optional<Mode> named(String name) {
        return Arrays.stream(values())
                .filter(mode -> mode.toString().equals(name))
                .findFirst();
    }

    /** All names, as a usage line shows them. */
    static String names() {
        return Arrays.stream(values()).map(Mode::toString).collect(Collectors.joining("|"));
    }

    /** Whether each request can be brought to a final answer, however often it was interrupted. */
    boolean endsEveryRequest() {
        return this == SAME_TRANSACTION || this == JOINED_LEASE;
    }

    /** Whether an answer of 500, 502 or 504 is final, since nobody knows what had happened by then. */
    boolean keepsFailures() {
        return this == LEASE;
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
