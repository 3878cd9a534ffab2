// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import static java.util.Objects.requireNonNull;

/** What fits into a {@code varchar} column, whose length counts code points. */
final class Lengths {

    private Lengths() {}

    static String require(String value, int most, String name) {
        int length = requireNonNull(value, name).codePointCount(0, value.length());
        if (length < 1 || length > most) {
            throw new IllegalArgumentException(name + " must have 1 to " + most + " characters, not " + length);
        }
        return value;
    }
}
