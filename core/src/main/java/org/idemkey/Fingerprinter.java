// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import java.io.IOException;
import java.io.InputStream;
import java.security.MessageDigest;
import java.util.List;
import java.util.Optional;
import org.apache.commons.codec.binary.Hex;
import org.apache.commons.codec.digest.DigestUtils;
import org.jspecify.annotations.Nullable;

/**
 * SHA-256 over method, path, query, media type, chosen headers and body. Every field is preceded by its length, so that
 * no byte can move from one field to the next unseen; an absent field differs from an empty one.
 *
 * <p>A multipart body counts by its parts, since a client that sends it again makes up another boundary.
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
        MediaType type = MediaType.parse(request.contentType());
        Optional<MultipartBody> multipart = MultipartBody.parse(body, request.contentType());
        field(digest, multipart.isPresent() ? type.without("boundary") : request.contentType());
        for (String name : headerNames) {
            List<String> lines = request.fieldLines(name);
            length(digest, lines.size());
            for (String line : lines) {
                field(digest, line);
            }
        }
        if (multipart.isPresent()) {
            parts(digest, body, multipart.get());
        } else if (matching != BodyMatching.CANONICAL_JSON || !type.isJson() || !CanonicalJson.digest(body, digest)) {
            digest.update((byte) 'r');
            range(digest, body.length(), body.openStream());
        }
        return new Fingerprint(Hex.encodeHexString(digest.digest()));
    }

    private static void parts(MessageDigest digest, RequestBody body, MultipartBody multipart) throws IOException {
        digest.update((byte) 'm');
        length(digest, multipart.parts().size());
        for (MultipartBody.Part part : multipart.parts()) {
            length(digest, part.fields().size());
            for (MultipartBody.Field field : part.fields()) {
                field(digest, field.name());
                field(digest, field.value());
            }
            range(digest, part.length(), part.openStream());
        }
        // Nobody means anything by what stands around the parts; but a handler might read it.
        range(digest, multipart.preamble(), body.openStream(0, multipart.preamble()));
        long epilogue = body.length() - multipart.epilogue();
        range(digest, epilogue, body.openStream(multipart.epilogue(), epilogue));
    }

    private static void range(MessageDigest digest, long length, InputStream bytes) throws IOException {
        length(digest, length);
        try (bytes) {
            DigestUtils.updateDigest(digest, bytes);
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
}
