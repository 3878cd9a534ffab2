// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.time.Duration;
import java.util.List;

/**
 * What the command line says.
 *
 * @param duration how long faults are injected: 1 to {@value #MAX_SECONDS} seconds; 60 by default
 * @param seed what schedule and requests are made from; a random one by default
 * @param mode what is tried; {@link Mode#SAME_TRANSACTION} by default
 */
record Options(Duration duration, long seed, Mode mode) {

    /** A day. */
    static final int MAX_SECONDS = 86_400;

    /** A wrong command line; the message is one line for its author. */
    static final class UsageException extends Exception {

        private static final long serialVersionUID = 1L;

        UsageException(String message) {
            super(message);
        }
    }

    /**
     * Reads {@code --seconds N --seed S --mode M}, in any order, each of them once at most.
     *
     * @param randomSeed the seed where none is given
     * @throws UsageException if anything else is there, or a value is wrong
     */
    static Options parse(List<String> arguments, long randomSeed) throws UsageException {
        Duration duration = Duration.ofSeconds(60);
        long seed = randomSeed;
        Mode mode = Mode.SAME_TRANSACTION;
        for (int i = 0; i < arguments.size(); i += 2) {
            String name = arguments.get(i);
            if (!List.of("--seconds", "--seed", "--mode").contains(name)) {
                throw new UsageException("unknown argument \"" + name
                        + "\"; there are --seconds N, --seed S and --mode " + Mode.names());
            }
            if (arguments.indexOf(name) != i) {
                throw new UsageException(name + " is there twice");
            }
            if (i + 1 == arguments.size()) {
                throw new UsageException(name + " needs a value");
            }
            String value = arguments.get(i + 1);
            switch (name) {
                case "--seconds" -> duration = Duration.ofSeconds(number(name, value, 1, MAX_SECONDS));
                case "--seed" -> seed = number(name, value, Long.MIN_VALUE, Long.MAX_VALUE);
                default ->
                    mode = Mode.named(value)
                            .orElseThrow(() -> new UsageException(
                                    "--mode must be " + Mode.names() + ", but is \"" + value + "\""));
            }
        }
        return new Options(duration, seed, mode);
    }

    private static long number(String name, String value, long min, long max) throws UsageException {
        try {
            long number = Long.parseLong(value);
            if (number >= min && number <= max) {
                return number;
            }
        } catch (NumberFormatException e) {
            // Said below, as for a number that is out of bounds.
        }
        throw new UsageException(
                name + " must be a whole number from " + min + " to " + max + ", but is \"" + value + "\"");
    }
}
