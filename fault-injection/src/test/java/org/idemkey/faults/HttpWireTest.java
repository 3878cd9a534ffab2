// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class HttpWireTest {

    private static final byte[] REQUEST = "x".getBytes(StandardCharsets.US_ASCII);

    private ServerSocket listener;
    private HttpWire wire;

    @BeforeEach
    void listen() throws IOException {
        listener = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
        wire = new HttpWire((InetSocketAddress) listener.getLocalSocketAddress(), Duration.ofSeconds(30));
    }

    @AfterEach
    void close() throws IOException {
        wire.close();
        listener.close();
    }

    /** Answers one request of one byte on each connection with each text, and closes it. */
    private CompletableFuture<Void> serve(String... answers) {
        return CompletableFuture.runAsync(() -> {
            try (Socket socket = listener.accept()) {
                for (String answer : answers) {
                    assertThat(socket.getInputStream().read()).isEqualTo('x');
                    socket.getOutputStream().write(answer.getBytes(StandardCharsets.ISO_8859_1));
                }
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        });
    }

    @Test
    void anAnswerIsTakenAsItComesAndTheConnectionKept() throws IOException {
        CompletableFuture<Void> served = serve(
                "HTTP/1.1 201 \r\nB: 1\r\na:  2 \r\nb: 3\r\nContent-Length: 2\r\n\r\n{}",
                "HTTP/1.1 204 \r\n\r\n",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n",
                "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end");
        assertThat(wire.exchange(REQUEST))
                .hasToString("201 [Field[name=B, value=1], Field[name=a, value=2], Field[name=b, value=3],"
                        + " Field[name=Content-Length, value=2]] {}");
        assertThat(wire.exchange(REQUEST).status()).isEqualTo(204);
        assertThat(wire.exchange(REQUEST)).asString().endsWith("] abc0123456789");
        assertThat(wire.exchange(REQUEST)).asString().endsWith("] until the end");
        served.join();
    }

    @Test
    void aTornAnswerIsNone() {
        for (String torn : new String[] {
            "",
            "HTTP/1.1 20",
            "HTTP/1.1 201 \r\nLocation: /pay",
            "HTTP/1.1 201 \r\nContent-Length: 3\r\n\r\n{}",
            "HTTP/1.1 201 \r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab",
            "HTTP/1.1 201 \r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
            "nonsense\r\n\r\n"
        }) {
            CompletableFuture<Void> served = serve(torn);
            assertThatExceptionOfType(IOException.class).as("%s", torn).isThrownBy(() -> wire.exchange(REQUEST));
            served.join();
        }
    }

    @Test
    void afterAFailureItConnectsAnew() throws IOException {
        CompletableFuture<Void> first = serve("HTTP/1.1 201");
        assertThatExceptionOfType(IOException.class).isThrownBy(() -> wire.exchange(REQUEST));
        first.join();
        CompletableFuture<Void> second = serve("HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n");
        assertThat(wire.exchange(REQUEST).status()).isEqualTo(200);
        second.join();
    }

    @Test
    void oneThatListensButNeverAnswersIsGivenUp() {
        wire = new HttpWire((InetSocketAddress) listener.getLocalSocketAddress(), Duration.ofMillis(50));
        assertThatExceptionOfType(IOException.class).isThrownBy(() -> wire.exchange(REQUEST));
    }
}
