// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import jakarta.servlet.AsyncContext;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.idemkey.Problem;
import org.junit.jupiter.api.Test;

/** Line 34: a client that goes away loses its own answer, and nothing else. */
class ClientGoneTest extends ServletTest {

    private final CountDownLatch entered = new CountDownLatch(1);
    private final CountDownLatch mayGoOn = new CountDownLatch(1);

    private static byte[] request(String key, int declared, String body) {
        return ("POST /handler HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: text/plain\r\n"
                        + "Content-Length: " + declared + "\r\nIdempotency-Key: " + key + "\r\n\r\n" + body)
                .getBytes(ISO_8859_1);
    }

    /** Reset and not closed in good order, so that the server's next write fails. */
    private static void goAway(Socket socket) throws IOException {
        socket.setSoLinger(true, 0);
        socket.close();
    }

    /** A bound that only a hanging test meets. */
    private static void pass(CountDownLatch latch) throws InterruptedException {
        assertThat(latch.await(1, TimeUnit.MINUTES)).isTrue();
    }

    @Test
    void aClientThatGoesBeforeItsBodyIsWholeClaimsNothing() throws Exception {
        serve((request, response) -> response.getWriter().print("ran"));
        String key = newKey();
        Socket socket = connect();
        socket.getOutputStream().write(request(key, 5, "he"));
        goAway(socket);
        assertThat(post(key).text()).isEqualTo("ran");
        assertThat(executions).hasValue(1);
        assertThat(store.calls()).isEqualTo(2);
    }

    @Test
    void aClientThatGoesWhileTheHandlerRunsFindsTheAnswerLater() throws Exception {
        serve((request, response) -> {
            entered.countDown();
            pass(mayGoOn);
            response.setStatus(201);
            response.getOutputStream().write(new byte[500_000]);
        });
        goneWithinTheHandler(500_000);
    }

    @Test
    void anAsynchronousAnswerIsRecordedForAClientThatHasGone() throws Exception {
        serve((request, response) -> {
            AsyncContext async = request.startAsync();
            async.start(() -> {
                entered.countDown();
                try {
                    pass(mayGoOn);
                    response.setStatus(201);
                    response.getOutputStream().write(new byte[500_000]);
                } catch (IOException | InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                async.complete();
            });
        });
        goneWithinTheHandler(500_000);
    }

    private void goneWithinTheHandler(int length) throws Exception {
        String key = newKey();
        Socket socket = connect();
        socket.getOutputStream().write(request(key, 5, "hello"));
        pass(entered);
        goAway(socket);
        mayGoOn.countDown();
        await().untilAsserted(() -> assertThat(store.calls()).isEqualTo(2));
        RawResponse again = post(key);
        assertThat(again.isReplay()).isTrue();
        assertThat(again.status()).isEqualTo(201);
        assertThat(again.body().length()).isEqualTo(length);
        assertThat(executions).hasValue(1);
    }

    @Test
    void aClientThatGoesWhileItsAnswerIsSentFindsItAgain() throws Exception {
        serve(
                new WebApp()
                        .filter(
                                "/*",
                                new IdempotencyFilter(
                                        settings().maxResponseBytes(50_000_000).build())),
                (request, response) -> response.getOutputStream().write(new byte[40_000_000]));
        String key = newKey();
        Socket socket = connect();
        socket.getOutputStream().write(request(key, 5, "hello"));
        // The first byte is there: more than all buffers hold is still on its way.
        assertThat(socket.getInputStream().read()).isEqualTo('H');
        goAway(socket);
        RawResponse again = post(key);
        assertThat(again.isReplay()).isTrue();
        assertThat(again.body().length()).isEqualTo(40_000_000);
        assertThat(executions).hasValue(1);
    }

    @Test
    void aClientThatLeavesAStreamLeavesTheTombstone() throws Exception {
        serve((request, response) -> {
            OutputStream out = response.getOutputStream();
            byte[] chunk = new byte[1 << 20];
            for (int i = 0; i < 200; i++) {
                out.write(chunk);
            }
        });
        String key = newKey();
        Socket socket = connect();
        socket.getOutputStream().write(request(key, 5, "hello"));
        assertThat(socket.getInputStream().read()).isEqualTo('H');
        goAway(socket);
        assertProblem(post(key), Problem.RESPONSE_NOT_REPLAYABLE);
        assertThat(executions).hasValue(1);
    }

    /** Whoever sends a body that is too long is answered, though it may not listen. */
    @Test
    void aBodyThatIsTooLongIsNotReadToItsEnd() throws Exception {
        serve(
                new WebApp()
                        .filter(
                                "/*",
                                new IdempotencyFilter(
                                        settings().maxRequestBytes(1000).build())),
                (request, response) -> response.getWriter().print("ran"));
        try (Socket socket = connect()) {
            socket.getOutputStream().write(request(newKey(), 2_000_000_000, "x".repeat(5000)));
            StringBuilder status = new StringBuilder();
            for (int b = socket.getInputStream().read();
                    b != '\r' && b >= 0;
                    b = socket.getInputStream().read()) {
                status.append((char) b);
            }
            assertThat(status.toString()).startsWith("HTTP/1.1 413");
        }
        assertThat(store.calls()).isZero();
    }
}
