// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import static java.util.Objects.requireNonNull;

import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import org.apache.commons.codec.digest.DigestUtils;

/**
 * What a request is, in 32 bytes: a repetition of the same request has the same fingerprint, another request under the
 * same key has another.
 *
 * @param hex a SHA-256, as 64 lower-case hexadecimal digits
 */
public record Fingerprint(String hex) {

    private static final Pattern SHA_256 = Pattern.compile("[0-9a-f]{64}");

    /**
     * Checks the form.
     *
     * @throws IllegalArgumentException if it isn't a SHA-256 in lower-case hexadecimal digits
     */
    public Fingerprint {
        if (!SHA_256.matcher(requireNonNull(hex, "hex")).matches()) {
            throw new IllegalArgumentException("not 64 lower-case hexadecimal digits");
        }
    }

    /** The fingerprint of something that is no HTTP request: any bytes that tell one action from another. */
    public static Fingerprint of(byte[] content) {
        return new Fingerprint(DigestUtils.sha256Hex(requireNonNull(content, "content")));
    }

    /** The fingerprint of a text's UTF-8 bytes. */
    public static Fingerprint of(String content) {
        return of(requireNonNull(content, "content").getBytes(StandardCharsets.UTF_8));
    }
}
