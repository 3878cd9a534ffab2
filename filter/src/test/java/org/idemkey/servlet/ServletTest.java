// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.Locale;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.idemkey.Idempotency;
import org.idemkey.IdempotencyBuilder;
import org.idemkey.InMemoryIdempotencyStore;
import org.idemkey.Problem;
import org.idemkey.conformance.CountingStore;
import org.junit.jupiter.api.AfterEach;

/** A container with a protected handler, and the words that the servlet tests speak in. */
abstract class ServletTest {

    static {
        // A bound that only a hanging test meets, however busy the machine is.
        Awaitility.setDefaultTimeout(Duration.ofMinutes(1));
    }

    /**
     * In milliseconds: what a test waits for. Jetty 12 loses a time-out that is over before its thread has taken note of
     * the task that was to tell it, and the request hangs; with 10 ms on a busy machine that was one in a thousand.
     */
    static final long TIME_OUT = 500;

    final CountingStore store = new CountingStore(new InMemoryIdempotencyStore());
    final AtomicInteger executions = new AtomicInteger();
    private ServletServer server;

    @AfterEach
    final void stop() {
        if (server != null) {
            server.close();
            server = null;
        }
    }

    /** Default settings, but for a lease that outlasts the slowest machine: the store in memory renews none. */
    final IdempotencyBuilder settings() {
        return Idempotency.builder(store).lease(Duration.ofHours(1));
    }

    final IdempotencyFilter filter() {
        return new IdempotencyFilter(settings().build());
    }

    final void start(WebApp app) throws Exception {
        stop();
        server = ServletServer.started(app);
    }

    /** A handler at {@code /handler} behind the filter, with all that the application has beside it. */
    final void serve(WebApp app, WebApp.Handler handler) throws Exception {
        start(app.servlet("/handler/*", (request, response) -> {
            executions.incrementAndGet();
            handler.handle(request, response);
        }));
    }

    final void serve(WebApp.Handler handler) throws Exception {
        serve(new WebApp().filter("/*", filter()), handler);
    }

    final int port() {
        return server.port();
    }

    final boolean has(ServletServer.Quirk quirk) {
        return server.quirks().contains(quirk);
    }

    static String newKey() {
        return UUID.randomUUID().toString();
    }

    /** Posts a small text to the handler. */
    final RawResponse post(String key, String... fields) throws IOException {
        return send("POST", "/handler", key, "text/plain", "hello".getBytes(ISO_8859_1), fields);
    }

    final RawResponse send(String method, String target, String key, String type, byte[] body, String... fields)
            throws IOException {
        StringBuilder head = new StringBuilder(method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n");
        head.append("Content-Length: ").append(body.length).append("\r\n");
        head.append("Content-Type: ").append(type).append("\r\n");
        if (key != null) {
            head.append("Idempotency-Key: ").append(key).append("\r\n");
        }
        for (String field : fields) {
            head.append(field).append("\r\n");
        }
        ByteArrayOutputStream request = new ByteArrayOutputStream();
        request.writeBytes(head.append("\r\n").toString().getBytes(ISO_8859_1));
        request.writeBytes(body);
        try (Socket socket = connect()) {
            OutputStream out = socket.getOutputStream();
            out.write(request.toByteArray());
            return RawResponse.read(new BufferedInputStream(socket.getInputStream()), method.equals("HEAD"));
        }
    }

    final Socket connect() throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), port());
        socket.setSoTimeout(60_000);
        return socket;
    }

    /** Posts twice: the first answer, if the second one is its replay. */
    final RawResponse replayed() throws IOException {
        String key = newKey();
        RawResponse first = post(key);
        RawResponse again = post(key);
        assertReplayOf(first, again);
        return first;
    }

    final void assertReplayOf(RawResponse first, RawResponse again) {
        assertThat(first.isReplay()).isFalse();
        assertThat(again.isReplay()).as("replayed, and not " + again).isTrue();
        assertThat(again.status()).isEqualTo(first.status());
        if (has(ServletServer.Quirk.SPACE_IN_TYPE)) {
            assertThat(contentType(again)).isEqualTo(contentType(first));
        } else {
            assertThat(again.headers("Content-Type")).isEqualTo(first.headers("Content-Type"));
        }
        assertThat(again.body()).isEqualTo(first.body());
        assertThat(first.framed()).isTrue();
        assertThat(again.framed()).isTrue();
        assertThat(executions).hasValue(1);
    }

    /** By meaning: spaces and case have none, and each container writes the handler's type in its own way. */
    static String contentType(RawResponse response) {
        return response.header("Content-Type").orElse("none").replace(" ", "").toLowerCase(Locale.ROOT);
    }

    static void assertProblem(RawResponse response, Problem problem) {
        assertThat(response.status()).isEqualTo(problem.status());
        assertThat(response.text()).contains("\"" + problem.type() + "\"");
    }
}
