// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import java.util.HashSet;
import java.util.Set;
import java.util.TreeSet;

/**
 * What the command line asks for.
 *
 * @param quick requests' ratios only, in less than a minute, and no report
 * @param messages messages' ratios only, and no report
 * @param profile what a request's time goes to, instead of ratios
 * @param json a line of JSON for each figure on standard output, in place of a table
 */
record Options(boolean quick, boolean messages, boolean profile, boolean json) {

    private static final Set<String> KNOWN = Set.of("--quick", "--messages", "--profile", "--json");

    /**
     * Reads the command line.
     *
     * @throws IllegalArgumentException if an argument is unknown; the message is for the user
     */
    static Options parse(String... arguments) {
        Set<String> given = new HashSet<>();
        for (String argument : arguments) {
            if (!KNOWN.contains(argument)) {
                throw new IllegalArgumentException(
                        "unknown argument '" + argument + "' (known: --quick, --messages, --profile, --json)");
            }
            given.add(argument);
        }
        boolean json = given.remove("--json");
        if (given.size() > 1) {
            throw new IllegalArgumentException(String.join(" and ", new TreeSet<>(given)) + " exclude each other");
        }
        return new Options(given.contains("--quick"), given.contains("--messages"), given.contains("--profile"), json);
    }
}
