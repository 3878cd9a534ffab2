// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import static java.util.Objects.requireNonNull;

import org.apache.commons.codec.binary.Base64;
import org.apache.commons.codec.digest.DigestUtils;

/**
 * Whose key it is: the name space in which a key's value is unique. Two scopes never meet, whatever keys they hold.
 *
 * <p>A caller's scope is {@code p:} and the SHA-256 of the caller's name in URL-safe Base64 (45 characters in all), so
 * no name can produce another caller's scope, nor {@link #ANONYMOUS}.
 */
public record Scope(String value) {

    /** The longest scope that a store must be able to hold, in characters. */
    public static final int MAX_LENGTH = 64;

    /** The one scope of all callers that nobody has authenticated. No caller's name can produce it. */
    public static final Scope ANONYMOUS = new Scope("a:");

    /**
     * A scope as a store holds it; everyone else takes {@link #caller} or {@link #ANONYMOUS}.
     *
     * @throws IllegalArgumentException if the value is empty or longer than {@value #MAX_LENGTH} characters
     */
    public Scope {
        requireNonNull(value, "value");
        if (value.isEmpty() || value.length() > MAX_LENGTH) {
            throw new IllegalArgumentException("a scope has 1 to " + MAX_LENGTH + " characters: " + value.length());
        }
    }

    /** The scope of an authenticated caller: the same for the same name, and never another name's. */
    public static Scope caller(String name) {
        return new Scope("p:" + Base64.encodeBase64URLSafeString(DigestUtils.sha256(requireNonNull(name, "name"))));
    }
}
