// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.idemkey.Bytes;

/**
 * A response as it came over the wire, with nothing joined, followed or mended.
 *
 * @param fields header field lines, in order
 * @param body without its transfer encoding
 * @param trailers field lines behind a chunked body
 * @param framed whether the end of the body was marked, and came
 */
record RawResponse(int status, List<Field> fields, Bytes body, List<Field> trailers, boolean framed) {

    record Field(String name, String value) {}

    /** Reads one final response, past any interim ones, and nothing of what follows it on the connection. */
    static RawResponse read(InputStream in) throws IOException {
        return read(in, false);
    }

    /** @param toHead whether the method was HEAD: then fields may tell of a body, and none comes */
    static RawResponse read(InputStream in, boolean toHead) throws IOException {
        while (true) {
            String statusLine = line(in);
            int status = Integer.parseInt(statusLine.split(" ", -1)[1]);
            List<Field> fields = fields(in);
            if (status >= 200) {
                return withBody(status, fields, toHead, in);
            }
        }
    }

    private static RawResponse withBody(int status, List<Field> fields, boolean toHead, InputStream in)
            throws IOException {
        RawResponse head = new RawResponse(status, fields, Bytes.EMPTY, List.of(), true);
        if (toHead || status == 204 || status == 304) {
            return head;
        }
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        Optional<String> length = head.header("Content-Length");
        List<Field> trailers = List.of();
        boolean framed;
        if (head.header("Transfer-Encoding").isPresent()) {
            try {
                for (int size = chunk(in); size > 0; size = chunk(in)) {
                    body.write(exactly(in, size));
                    line(in);
                }
                trailers = fields(in);
                framed = true;
            } catch (IOException | NumberFormatException e) {
                framed = false;
            }
        } else if (length.isPresent()) {
            byte[] bytes = in.readNBytes(Integer.parseInt(length.get()));
            body.write(bytes);
            framed = bytes.length == Integer.parseInt(length.get());
        } else {
            in.transferTo(body);
            framed = false;
        }
        return new RawResponse(status, fields, Bytes.wrap(body.toByteArray()), trailers, framed);
    }

    private static int chunk(InputStream in) throws IOException {
        return Integer.parseInt(line(in).split(";", -1)[0].strip(), 16);
    }

    private static byte[] exactly(InputStream in, int length) throws IOException {
        byte[] bytes = in.readNBytes(length);
        if (bytes.length < length) {
            throw new EOFException();
        }
        return bytes;
    }

    private static List<Field> fields(InputStream in) throws IOException {
        List<Field> fields = new ArrayList<>();
        for (String line = line(in); !line.isEmpty(); line = line(in)) {
            int colon = line.indexOf(':');
            fields.add(new Field(
                    line.substring(0, colon), line.substring(colon + 1).strip()));
        }
        return fields;
    }

    private static String line(InputStream in) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int b = in.read(); b != '\n'; b = in.read()) {
            if (b < 0) {
                throw new EOFException();
            }
            if (b != '\r') {
                line.write(b);
            }
        }
        return line.toString(ISO_8859_1);
    }

    Optional<String> header(String name) {
        return headers(name).stream().findFirst();
    }

    List<String> headers(String name) {
        return fields.stream()
                .filter(field -> field.name().equalsIgnoreCase(name))
                .map(Field::value)
                .toList();
    }

    String text() {
        return body.toUtf8();
    }

    boolean isReplay() {
        return header("Idempotent-Replayed").isPresent();
    }
}
