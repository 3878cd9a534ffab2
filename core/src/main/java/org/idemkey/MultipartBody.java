// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The parts of a multipart body (RFC 2046 §5.1, RFC 7578). They are ranges of the {@link RequestBody}, of which nothing
 * is copied; its close is the end of theirs too.
 */
public final class MultipartBody {

    /** The most parts that a body may have; one with more isn't taken apart. */
    public static final int MAX_PARTS = 1000;

    /** The longest header section of a part, in bytes; a body with a longer one isn't taken apart. */
    public static final int MAX_HEADER_BYTES = 16 << 10;

    private final List<Part> parts;
    private final long preamble;
    private final long epilogue;

    MultipartBody(List<Part> parts, long preamble, long epilogue) {
        this.parts = List.copyOf(parts);
        this.preamble = preamble;
        this.epilogue = epilogue;
    }

    /**
     * Takes a body apart.
     *
     * @return empty if the Content-Type isn't multipart with a boundary, or the body isn't well-formed by it
     * @throws IOException if the body can't be read
     */
    public static Optional<MultipartBody> parse(RequestBody body, @Nullable String contentType) throws IOException {
        MediaType type = MediaType.parse(contentType);
        Optional<String> boundary = type.isMultipart() ? type.parameter("boundary") : Optional.empty();
        if (boundary.isEmpty() || !isBoundary(boundary.get())) {
            return Optional.empty();
        }
        try (InputStream in = body.openStream()) {
            return new MultipartParser(in, body, boundary.get()).parse();
        }
    }

    /** RFC 2046 §5.1.1, but for a few more characters that some clients send. */
    private static boolean isBoundary(String text) {
        return !text.isEmpty() && text.length() <= 70 && text.chars().allMatch(c -> c >= ' ' && c < 0x7f);
    }

    /** All parts, in their order. */
    public List<Part> parts() {
        return parts;
    }

    /** How many bytes stand before the first boundary. */
    long preamble() {
        return preamble;
    }

    /** Where the last boundary's line ends. */
    long epilogue() {
        return epilogue;
    }

    /**
     * A part: header fields and content.
     *
     * <p>Field values hold one character for each byte (ISO 8859-1), so that nothing is lost; browsers mean UTF-8
     * (RFC 7578 §5.1).
     */
    public static final class Part {

        private final List<Field> fields;
        private final RequestBody body;
        private final long from;
        private final long length;

        Part(List<Field> fields, RequestBody body, long from, long length) {
            this.fields = List.copyOf(fields);
            this.body = body;
            this.from = from;
            this.length = length;
        }

        /** The header fields, in their order. */
        public List<Field> fields() {
            return fields;
        }

        /** The value of the first field of that name, which is not case-sensitive. */
        public Optional<String> field(String name) {
            return fields.stream()
                    .filter(field -> field.name().equalsIgnoreCase(name))
                    .map(Field::value)
                    .findFirst();
        }

        /** How many bytes of content it has. */
        public long length() {
            return length;
        }

        /** A new stream over the content; it must not outlive the body. */
        public InputStream openStream() {
            return body.openStream(from, length);
        }
    }

    /** A header field of a part. */
    public record Field(String name, String value) {}
}
