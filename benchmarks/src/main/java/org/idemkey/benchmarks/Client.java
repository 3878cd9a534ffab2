// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/**
 * One HTTP/1.1 connection that blocks and allocates nothing per request, since client and server share the machine. It
 * knows just enough of a response to find its end: a status line, header fields, Content-Length.
 */
final class Client implements AutoCloseable {

    private static final byte[] LENGTH = "content-length:".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] REPLAYED = "idempotent-replayed:".getBytes(StandardCharsets.US_ASCII);
    private static final int TIMEOUT_MILLIS = 30_000;

    private final Socket socket;
    private final InputStream in;
    private final OutputStream out;
    private final byte[] buffer = new byte[1 << 16];
    private int filled;
    private int headLength;
    private boolean replayed;

    Client(int port) throws IOException {
        socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setTcpNoDelay(true);
        socket.setSoTimeout(TIMEOUT_MILLIS);
        in = socket.getInputStream();
        out = socket.getOutputStream();
    }

    /** Sends a whole request, reads the whole response, and answers its status. */
    int exchange(byte[] request) throws IOException {
        out.write(request);
        filled = 0;
        readHead();
        replayed = false;
        int length = 0;
        for (int line = lineAfter(0); line < headLength - 2; line = lineAfter(line)) {
            if (startsWith(line, LENGTH)) {
                length = number(line + LENGTH.length);
            } else if (startsWith(line, REPLAYED)) {
                replayed = true;
            }
        }
        while (filled < headLength + length) {
            fill();
        }
        if (filled > headLength + length) {
            throw new IOException("more bytes than the response has: " + text());
        }
        return 100 * (buffer[9] - '0') + 10 * (buffer[10] - '0') + buffer[11] - '0';
    }

    /** Whether the last response was marked as a replay. */
    boolean replayed() {
        return replayed;
    }

    /** The last response, for a failure's message. */
    String text() {
        return new String(buffer, 0, filled, StandardCharsets.ISO_8859_1);
    }

    private void readHead() throws IOException {
        int searched = 0;
        while (true) {
            fill();
            for (int i = searched; i + 3 < filled; i++) {
                if (buffer[i] == '\r' && buffer[i + 1] == '\n' && buffer[i + 2] == '\r' && buffer[i + 3] == '\n') {
                    headLength = i + 4;
                    return;
                }
            }
            searched = Math.max(0, filled - 3);
        }
    }

    private void fill() throws IOException {
        int read = in.read(buffer, filled, buffer.length - filled);
        if (read <= 0) {
            throw new EOFException("the server closed the connection, or answers too much: " + text());
        }
        filled += read;
    }

    private int lineAfter(int from) {
        int at = from;
        while (buffer[at] != '\n') {
            at++;
        }
        return at + 1;
    }

    private boolean startsWith(int line, byte[] lowerCase) {
        for (int i = 0; i < lowerCase.length; i++) {
            int c = buffer[line + i];
            if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != lowerCase[i]) {
                return false;
            }
        }
        return true;
    }

    private int number(int from) {
        int at = from;
        while (buffer[at] == ' ') {
            at++;
        }
        int number = 0;
        for (; buffer[at] >= '0' && buffer[at] <= '9'; at++) {
            number = 10 * number + buffer[at] - '0';
        }
        return number;
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
