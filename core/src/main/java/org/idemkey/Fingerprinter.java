// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import java.io.IOException;
import java.io.InputStream;
import java.security.MessageDigest;
import java.util.List;
import java.util.Locale;
import org.apache.commons.codec.binary.Hex;
import org.apache.commons.codec.digest.DigestUtils;
import org.jspecify.annotations.Nullable;

/**
 * SHA-256 over method, path, query, media type, chosen headers and body. Every field is preceded by its length, so that
 * no byte can move from one field to the next unseen; an absent field differs from an empty one.
 */
final class Fingerprinter {

    private final BodyMatching matching;
    private final List<String> headerNames;

    Fingerprinter(BodyMatching matching, List<String> headerNames) {
        this.matching = matching;
        this.headerNames = headerNames;
    }

    Fingerprint fingerprint(ProtectedRequest request, RequestBody body) throws IOException {
        MessageDigest digest = DigestUtils.getSha256Digest();
        field(digest, request.method());
        field(digest, request.path());
        field(digest, request.query());
        field(digest, request.contentType());
        for (String name : headerNames) {
            List<String> lines = request.fieldLines(name);
            length(digest, lines.size());
            for (String line : lines) {
                field(digest, line);
            }
        }
        if (matching != BodyMatching.CANONICAL_JSON
                || !isJson(request.contentType())
                || !CanonicalJson.digest(body, digest)) {
            raw(digest, body);
        }
        return new Fingerprint(Hex.encodeHexString(digest.digest()));
    }

    private static void raw(MessageDigest digest, RequestBody body) throws IOException {
        digest.update((byte) 'r');
        length(digest, body.length());
        try (InputStream in = body.openStream()) {
            DigestUtils.updateDigest(digest, in);
        }
    }

    private static void field(MessageDigest digest, @Nullable String text) {
        if (text == null) {
            length(digest, -1);
            return;
        }
        byte[] bytes = codeUnits(text);
        length(digest, bytes.length);
        digest.update(bytes);
    }

    /** Two bytes a character. No charset will do: each of them turns all lone surrogates into one and the same thing. */
    static byte[] codeUnits(String text) {
        byte[] bytes = new byte[2 * text.length()];
        for (int i = 0; i < text.length(); i++) {
            bytes[2 * i] = (byte) (text.charAt(i) >>> 8);
            bytes[2 * i + 1] = (byte) text.charAt(i);
        }
        return bytes;
    }

    private static void length(MessageDigest digest, long length) {
        for (int shift = 56; shift >= 0; shift -= 8) {
            digest.update((byte) (length >>> shift));
        }
    }

    private static boolean isJson(@Nullable String contentType) {
        if (contentType == null) {
            return false;
        }
        int end = contentType.indexOf(';');
        String type =
                (end < 0 ? contentType : contentType.substring(0, end)).strip().toLowerCase(Locale.ROOT);
        return type.equals("application/json") || type.endsWith("+json");
    }
}
