// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * One kept-alive HTTP/1.1 connection, reduced to what the sample API speaks. It sends each request once and repeats
 * nothing by itself, shows header fields as they came, and tells a torn answer from a whole one. Not thread-safe.
 */
final class HttpWire implements AutoCloseable {

    private static final int CONNECT_MILLIS = 2_000;

    /** No answer has more bytes than this: a length beyond it is a torn or a mad one. */
    private static final int MAX_BODY = 1 << 20;

    private final InetSocketAddress address;
    private final Duration patience;
    private @Nullable Socket socket;
    private @Nullable InputStream in;

    /**
     * Connects when it is first used, and after each failure anew.
     *
     * @param patience how long to wait for each piece of an answer
     */
    HttpWire(InetSocketAddress address, Duration patience) {
        this.address = address;
        this.patience = patience;
    }

    /**
     * Sends a request and takes its answer.
     *
     * @throws IOException if there is no answer, or not all of it
     */
    Answer exchange(byte[] request) throws IOException {
        boolean whole = false;
        try {
            InputStream from = connect();
            socket().getOutputStream().write(request);
            Answer answer = read(from);
            whole = answer.value("Connection").filter("close"::equalsIgnoreCase).isEmpty();
            return answer;
        } finally {
            if (!whole) {
                close();
            }
        }
    }

    private Socket socket() throws IOException {
        if (socket == null) {
            throw new IOException("not connected");
        }
        return socket;
    }

    private InputStream connect() throws IOException {
        if (in != null) {
            return in;
        }
        Socket made = new Socket();
        socket = made;
        made.setTcpNoDelay(true);
        made.setSoTimeout((int) patience.toMillis());
        made.connect(address, CONNECT_MILLIS);
        in = new BufferedInputStream(made.getInputStream());
        return in;
    }

    @Override
    public void close() {
        try {
            if (socket != null) {
                socket.close();
            }
        } catch (IOException e) {
            // It is given up anyway.
        }
        socket = null;
        in = null;
    }

    private static Answer read(InputStream in) throws IOException {
        String statusLine = line(in);
        if (!statusLine.matches("HTTP/1\\.1 [0-9]{3}.*")) {
            throw new IOException("no status line: " + statusLine);
        }
        int status = Integer.parseInt(statusLine.substring(9, 12));
        List<Answer.Field> fields = new ArrayList<>();
        int length = status == 204 || status == 304 ? 0 : -1;
        boolean chunked = false;
        for (String line = line(in); !line.isEmpty(); line = line(in)) {
            int colon = line.indexOf(':');
            if (colon < 1) {
                throw new IOException("no header field: " + line);
            }
            Answer.Field field = new Answer.Field(
                    line.substring(0, colon), line.substring(colon + 1).strip());
            fields.add(field);
            switch (field.name().toLowerCase(Locale.ROOT)) {
                case "content-length" -> length = number(field.value(), 10);
                case "transfer-encoding" -> chunked = field.value().equalsIgnoreCase("chunked");
                default -> {}
            }
        }
        byte[] body = chunked ? chunks(in) : length >= 0 ? exactly(in, length) : in.readAllBytes();
        return new Answer(status, fields, body);
    }

    private static byte[] chunks(InputStream in) throws IOException {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        while (true) {
            int length = number(line(in), 16);
            body.writeBytes(exactly(in, length));
            String end = line(in);
            if (!end.isEmpty()) {
                throw new IOException("a chunk, or the trailer, doesn't end: " + end);
            }
            if (length == 0) {
                return body.toByteArray();
            }
        }
    }

    private static byte[] exactly(InputStream in, int length) throws IOException {
        byte[] bytes = in.readNBytes(length);
        if (bytes.length < length) {
            throw new EOFException("torn after " + bytes.length + " of " + length + " bytes");
        }
        return bytes;
    }

    private static int number(String text, int radix) throws IOException {
        try {
            int number = Integer.parseInt(text, radix);
            if (number >= 0 && number <= MAX_BODY) {
                return number;
            }
        } catch (NumberFormatException e) {
            // Said below.
        }
        throw new IOException("no length: " + text);
    }

    private static String line(InputStream in) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream(64);
        for (int c = in.read(); c != '\n'; c = in.read()) {
            if (c < 0 || line.size() > 8192) {
                throw new EOFException(line.size() == 0 ? "closed without an answer" : "torn within a line");
            }
            line.write(c);
        }
        String text = line.toString(StandardCharsets.ISO_8859_1);
        return text.endsWith("\r") ? text.substring(0, text.length() - 1) : text;
    }
}
