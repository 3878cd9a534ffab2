// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import static java.util.Objects.requireNonNull;

import org.apache.commons.codec.digest.DigestUtils;

/**
 * An idempotency key within its scope. Case-sensitive, never normalised: two keys are equal only if each character is.
 *
 * <p>{@link #toString()} shows a hash prefix in place of the value, so that a log never holds a key that a client sent.
 *
 * @param scope whose key it is
 * @param value the key as the client means it, unquoted: 1 to {@value #MAX_LENGTH} characters of %x20–7E
 */
public record IdempotencyKey(Scope scope, String value) {

    /** The longest key, in characters, after unquoting. */
    public static final int MAX_LENGTH = 255;

    /**
     * Checks the form.
     *
     * @throws IllegalArgumentException if the value is empty, too long, or holds a character outside %x20–7E
     */
    public IdempotencyKey {
        requireNonNull(scope, "scope");
        requireNonNull(value, "value");
        if (value.isEmpty() || value.length() > MAX_LENGTH) {
            throw new IllegalArgumentException("a key has 1 to " + MAX_LENGTH + " characters: " + value.length());
        }
        for (int i = 0; i < value.length(); i++) {
            if (value.charAt(i) < ' ' || value.charAt(i) > '~') {
                throw new IllegalArgumentException("a key has printable ASCII characters only, unlike number " + i);
            }
        }
    }

    @Override
    public String toString() {
        return scope.value() + "/#" + DigestUtils.sha256Hex(value).substring(0, 12);
    }
}
