// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import jakarta.servlet.AsyncContext;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A body that doesn't fit in memory lies in a temporary file, which is gone whatever becomes of its request. */
class TemporaryFilesTest extends ServletTest {

    private static final byte[] LARGE = "x".repeat(300_000).getBytes(ISO_8859_1);

    /** A file that nobody closes would go with its request's garbage, and look closed: so these never become garbage. */
    private final List<Object> kept = new CopyOnWriteArrayList<>();

    @AfterEach
    void nothingIsLeft() {
        OpenFiles.assertNoneLeft();
    }

    private RawResponse post(byte[] body) throws IOException {
        return send("POST", "/handler", newKey(), "text/plain", body);
    }

    private void assertSpilled() {
        try {
            assertThat(OpenFiles.ofBodies(ProcessHandle.current().pid())).isNotEmpty();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void afterAnAnswer() throws Exception {
        serve((request, response) -> {
            kept.add(request);
            assertSpilled();
            request.getInputStream().transferTo(response.getOutputStream());
        });
        assertThat(post(LARGE).body().length()).isEqualTo(LARGE.length);
    }

    @Test
    void afterARefusal() throws Exception {
        serve((request, response) -> {});
        String key = newKey();
        send("POST", "/handler", key, "text/plain", LARGE);
        assertThat(send("POST", "/handler", key, "text/plain", LARGE).isReplay())
                .isTrue();
        LARGE[0] = 'y';
        assertThat(send("POST", "/handler", key, "text/plain", LARGE).status()).isEqualTo(422);
        LARGE[0] = 'x';
        store.goAway();
        assertThat(post(LARGE).status()).isEqualTo(503);
    }

    @Test
    void afterAnException() throws Exception {
        serve((request, response) -> {
            kept.add(request);
            throw new IllegalStateException("with a body");
        });
        assertThat(post(LARGE).status()).isEqualTo(500);
    }

    @Test
    void afterAnAsynchronousAnswer() throws Exception {
        serve((request, response) -> {
            kept.add(request);
            AsyncContext async = request.startAsync();
            async.start(() -> {
                assertSpilled();
                try {
                    async.getRequest().getInputStream().transferTo(response.getOutputStream());
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
                async.complete();
            });
        });
        assertThat(post(LARGE).body().length()).isEqualTo(LARGE.length);
    }

    @Test
    void afterATimeOut() throws Exception {
        serve((request, response) -> {
            kept.add(request);
            request.startAsync().setTimeout(TIME_OUT);
        });
        assertThat(post(LARGE).status()).isEqualTo(500);
    }

    @Test
    void afterAnUnprotectedAnswer() throws Exception {
        serve(
                new WebApp()
                        .filter(
                                "/*",
                                new IdempotencyFilter(settings().shadow(true).build())),
                (request, response) -> {
                    kept.add(request);
                    if (request.getContentLength() < LARGE.length) {
                        AsyncContext async = request.startAsync();
                        async.start(async::complete);
                    }
                });
        String key = newKey();
        for (int i = 0; i < 2; i++) {
            assertThat(send("POST", "/handler", key, "text/plain", LARGE).status())
                    .isEqualTo(200);
            assertThat(send("POST", "/handler", key, "text/plain", new byte[200_000])
                            .status())
                    .isEqualTo(200);
        }
    }

    @Test
    void afterAClientThatBrokeOff() throws Exception {
        serve((request, response) -> {});
        breakOff();
        assertThat(executions).hasValue(0);
    }

    private void breakOff() throws IOException {
        Socket socket = connect();
        socket.getOutputStream().write(head("Content-Length: 300000"));
        socket.getOutputStream().write(new byte[200_000]);
        socket.setSoLinger(true, 0);
        socket.close();
    }

    /** What one of them leaves behind, no other may cover. */
    @Test
    void afterManyAtOnceOfWhichSomeFailAndSomeBreakOff() throws Exception {
        CyclicBarrier all = new CyclicBarrier(6);
        serve((request, response) -> {
            kept.add(request);
            all.await(1, TimeUnit.MINUTES);
            assertThat(OpenFiles.ofBodies(ProcessHandle.current().pid())).hasSizeGreaterThanOrEqualTo(6);
            all.await(1, TimeUnit.MINUTES);
            if (request.getHeader("X-Fail") != null) {
                throw new IllegalStateException("with a body");
            }
            request.getInputStream().transferTo(response.getOutputStream());
        });
        ExecutorService clients = Executors.newFixedThreadPool(6);
        List<Future<Integer>> statuses = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            String[] fields = i % 2 == 0 ? new String[0] : new String[] {"X-Fail: 1"};
            statuses.add(clients.submit(() -> send("POST", "/handler", newKey(), "text/plain", LARGE, fields)
                    .status()));
        }
        for (int i = 0; i < 3; i++) {
            breakOff();
        }
        for (int i = 0; i < 6; i++) {
            assertThat(statuses.get(i).get(1, TimeUnit.MINUTES)).isEqualTo(i % 2 == 0 ? 200 : 500);
        }
        clients.shutdown();
        assertThat(executions).hasValue(6);
    }

    @Test
    void afterABodyThatIsTooLong() throws Exception {
        serve((request, response) -> {});
        try (Socket socket = connect()) {
            socket.getOutputStream().write(head("Transfer-Encoding: chunked"));
            socket.getOutputStream().write("100000\r\n".getBytes(ISO_8859_1));
            socket.getOutputStream().write(new byte[1 << 20]);
            socket.getOutputStream().write("\r\n1\r\nx\r\n".getBytes(ISO_8859_1));
            assertThat(new String(socket.getInputStream().readNBytes(12), ISO_8859_1))
                    .isEqualTo("HTTP/1.1 413");
        } catch (IOException e) {
            // The server may have reset the connection before the answer was read.
        }
        assertThat(executions).hasValue(0);
    }

    private static byte[] head(String framing) {
        return String.join(
                        "\r\n",
                        "POST /handler HTTP/1.1",
                        "Host: localhost",
                        "Connection: close",
                        "Content-Type: text/plain",
                        "Idempotency-Key: k",
                        framing,
                        "",
                        "")
                .getBytes(ISO_8859_1);
    }
}
