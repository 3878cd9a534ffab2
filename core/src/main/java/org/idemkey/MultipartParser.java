// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.idemkey.MultipartBody.Field;
import org.idemkey.MultipartBody.Part;

/** Finds the parts of a multipart body in one pass over its bytes. Used once. */
final class MultipartParser {

    private static final int LINE_BREAK = 2;

    private final InputStream in;
    private final RequestBody body;
    private final byte[] delimiter;
    /** For each length of a match, the longest shorter one that is a match too: the search never steps back. */
    private final int[] shorter;

    private final byte[] buffer = new byte[8192];
    private int filled;
    private int next;
    private long position;

    MultipartParser(InputStream in, RequestBody body, String boundary) {
        this.in = in;
        this.body = body;
        this.delimiter = ("\r\n--" + boundary).getBytes(ISO_8859_1);
        this.shorter = shorter(delimiter);
    }

    private static int[] shorter(byte[] pattern) {
        int[] shorter = new int[pattern.length + 1];
        int length = 0;
        for (int i = 1; i < pattern.length; i++) {
            while (length > 0 && pattern[i] != pattern[length]) {
                length = shorter[length];
            }
            if (pattern[i] == pattern[length]) {
                length++;
            }
            shorter[i + 1] = length;
        }
        return shorter;
    }

    Optional<MultipartBody> parse() throws IOException {
        try {
            return Optional.of(parts());
        } catch (MalformedException e) {
            return Optional.empty();
        }
    }

    private MultipartBody parts() throws IOException, MalformedException {
        List<Part> parts = new ArrayList<>();
        skipToDelimiter();
        long preamble = startOfDelimiter();
        while (!isLast()) {
            if (parts.size() == MultipartBody.MAX_PARTS) {
                throw new MalformedException();
            }
            List<Field> fields = fields();
            long from = position;
            skipToDelimiter();
            // The line break before a boundary belongs to it, and may be the one that ended the fields.
            parts.add(new Part(fields, body, from, Math.max(0, startOfDelimiter() - from)));
        }
        return new MultipartBody(parts, Math.max(0, preamble), position);
    }

    private long startOfDelimiter() {
        return position - delimiter.length;
    }

    /** A boundary may stand at the very start of what is searched, as if a line had just ended. */
    private void skipToDelimiter() throws IOException, MalformedException {
        int matched = LINE_BREAK;
        while (matched < delimiter.length) {
            int b = read();
            while (matched > 0 && b != delimiter[matched]) {
                matched = shorter[matched];
            }
            if (b == delimiter[matched]) {
                matched++;
            }
        }
    }

    /** Reads the rest of a boundary's line; two hyphens make it the last one. */
    private boolean isLast() throws IOException, MalformedException {
        String rest = line();
        boolean last = rest.startsWith("--");
        if (!rest.substring(last ? 2 : 0).isBlank()) {
            throw new MalformedException();
        }
        return last;
    }

    private List<Field> fields() throws IOException, MalformedException {
        List<Field> fields = new ArrayList<>();
        long limit = position + MultipartBody.MAX_HEADER_BYTES;
        for (String line = line(); !line.isEmpty(); line = line()) {
            if (position > limit) {
                throw new MalformedException();
            }
            char first = line.charAt(0);
            int colon = line.indexOf(':');
            if ((first == ' ' || first == '\t') && !fields.isEmpty()) {
                Field folded = fields.remove(fields.size() - 1);
                fields.add(new Field(folded.name(), folded.value() + " " + line.strip()));
            } else if (colon > 0) {
                fields.add(new Field(
                        line.substring(0, colon).strip(),
                        line.substring(colon + 1).strip()));
            } else {
                throw new MalformedException();
            }
        }
        return fields;
    }

    /** A line without its end. The last boundary's may end with the body. */
    private String line() throws IOException, MalformedException {
        ByteArrayOutputStream line = new ByteArrayOutputStream(64);
        while (true) {
            int b = peek();
            if (b < 0 && line.toString(ISO_8859_1).startsWith("--")) {
                return line.toString(ISO_8859_1);
            }
            b = read();
            if (b == '\r' && peek() == '\n') {
                read();
                return line.toString(ISO_8859_1);
            }
            if (line.size() > MultipartBody.MAX_HEADER_BYTES) {
                throw new MalformedException();
            }
            line.write(b);
        }
    }

    private int peek() throws IOException {
        if (next == filled) {
            filled = in.read(buffer, 0, buffer.length);
            next = 0;
            if (filled <= 0) {
                filled = 0;
                return -1;
            }
        }
        return buffer[next] & 0xff;
    }

    private int read() throws IOException, MalformedException {
        int b = peek();
        if (b < 0) {
            throw new MalformedException();
        }
        position++;
        next++;
        return b;
    }

    /** The body isn't well-formed; expected, and so without a trace. */
    private static final class MalformedException extends Exception {

        private static final long serialVersionUID = 1L;

        MalformedException() {
            super(null, null, false, false);
        }
    }
}
