// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.util.List;
import java.util.Locale;

/**
 * A broken promise.
 *
 * @param breach which one
 * @param key whose; the campaign's own keys are no secret
 * @param what how it shows
 * @param history what clients saw of the key
 */
record Finding(Breach breach, String key, String what, List<String> history) {

    /** The promises. */
    enum Breach {
        /** The effect happened more than once. */
        DUPLICATE,
        /** Something acknowledged isn't there, or a request never ends. */
        LOST,
        /** Answers that contradict each other, or the books. */
        DIVERGENT,
        /** The ledger hasn't each payment just once. */
        UNBALANCED
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(breach.name().toLowerCase(Locale.ROOT))
                .append(": ")
                .append(key)
                .append(": ")
                .append(what);
        history.forEach(line -> text.append("\n    ").append(line));
        return text.toString();
    }
}
