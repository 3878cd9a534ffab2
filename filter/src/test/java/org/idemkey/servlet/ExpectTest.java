// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.net.Socket;
import org.idemkey.Problem;
import org.junit.jupiter.api.Test;

/** Line 54: a client that asks before it sends its body gets an answer about its key first. */
class ExpectTest extends ServletTest {

    private static String head(String key, int length) {
        return "POST /handler HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nExpect: 100-continue\r\n"
                + "Content-Type: text/plain\r\nContent-Length: " + length + "\r\nIdempotency-Key: " + key + "\r\n\r\n";
    }

    private void serveEcho() throws Exception {
        serve((request, response) -> {
            response.setStatus(201);
            request.getInputStream().transferTo(response.getOutputStream());
        });
    }

    @Test
    void aBadKeyIsRefusedWithoutAskingForTheBody() throws Exception {
        serveEcho();
        try (Socket socket = connect()) {
            socket.getOutputStream().write(head("two words", 5).getBytes(ISO_8859_1));
            assertThat(firstStatus(socket)).isEqualTo(400);
        }
        assertThat(executions).hasValue(0);
    }

    @Test
    void aBodyThatIsTooLongIsRefusedWithoutAskingForIt() throws Exception {
        serveEcho();
        try (Socket socket = connect()) {
            socket.getOutputStream().write(head("k", 100_000_000).getBytes(ISO_8859_1));
            assertThat(firstStatus(socket)).isEqualTo(413);
        }
        assertThat(store.calls()).isZero();
    }

    @Test
    void aGoodKeyAsksForTheBody() throws Exception {
        serveEcho();
        String key = newKey();
        try (Socket socket = connect()) {
            socket.getOutputStream().write(head(key, 5).getBytes(ISO_8859_1));
            assertThat(firstStatus(socket)).isEqualTo(100);
            socket.getOutputStream().write("hello".getBytes(ISO_8859_1));
            RawResponse first = RawResponse.read(new BufferedInputStream(socket.getInputStream()));
            assertThat(first.status()).isEqualTo(201);
            assertThat(first.text()).isEqualTo("hello");
            assertReplayOf(first, post(key));
        }
    }

    @Test
    void aReplayNeedsTheBodyToo() throws Exception {
        serveEcho();
        String key = newKey();
        post(key);
        try (Socket socket = connect()) {
            socket.getOutputStream().write(head(key, 5).getBytes(ISO_8859_1));
            assertThat(firstStatus(socket)).isEqualTo(100);
            socket.getOutputStream().write("other".getBytes(ISO_8859_1));
            assertProblem(RawResponse.read(new BufferedInputStream(socket.getInputStream())), Problem.MISMATCH);
        }
    }

    /** Reads one head without taking a byte of what follows it. */
    private static int firstStatus(Socket socket) throws IOException {
        StringBuilder head = new StringBuilder();
        while (head.indexOf("\r\n\r\n") < 0) {
            int b = socket.getInputStream().read();
            assertThat(b).as("the connection ended").isNotNegative();
            head.append((char) b);
        }
        return Integer.parseInt(head.substring(9, 12));
    }
}
