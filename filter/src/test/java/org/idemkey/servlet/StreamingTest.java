// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import java.net.Socket;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.idemkey.Problem;
import org.junit.jupiter.api.Test;

/** Line 56 and case 18: what can't be held back leaves as it is written. */
class StreamingTest extends ServletTest {

    private static final String HEAD = "POST /handler HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            + "Content-Type: text/plain\r\nContent-Length: 0\r\nIdempotency-Key: ";

    /** The handler writes its second event only when the client has the first. */
    @Test
    void eventsArriveWhenTheyAreFlushed() throws Exception {
        CountDownLatch firstRead = new CountDownLatch(1);
        serve((request, response) -> {
            response.setContentType("text/event-stream;charset=UTF-8");
            response.getWriter().print("data: first\n\n");
            response.getWriter().flush();
            if (firstRead.await(1, TimeUnit.MINUTES)) {
                response.getWriter().print("data: second\n\n");
            }
        });
        String key = newKey();
        try (Socket socket = connect()) {
            socket.getOutputStream().write((HEAD + key + "\r\n\r\n").getBytes(ISO_8859_1));
            InputStream in = socket.getInputStream();
            StringBuilder read = new StringBuilder();
            while (read.indexOf("data: first") < 0) {
                int b = in.read();
                assertThat(b).as(read.toString()).isNotNegative();
                read.append((char) b);
            }
            firstRead.countDown();
            assertThat(new String(in.readAllBytes(), ISO_8859_1)).contains("data: second");
        }
        assertProblem(send("POST", "/handler", key, "text/plain", new byte[0]), Problem.RESPONSE_NOT_REPLAYABLE);
        assertThat(executions).hasValue(1);
    }

    @Test
    void anotherTypeIsAStreamWhereTheFilterIsToldSo() throws Exception {
        IdempotencyFilter filter = IdempotencyFilter.builder(settings().build())
                .streamedTypes("Application/X-NDJSON")
                .build();
        serve(new WebApp().filter("/*", filter), (request, response) -> {
            response.setContentType(request.getHeader("X-Type"));
            response.getOutputStream().print("1\n");
            response.flushBuffer();
            response.getOutputStream().print("2\n");
        });
        String key = newKey();
        assertThat(post(key, "X-Type: application/x-ndjson").text()).isEqualTo("1\n2\n");
        assertProblem(post(key, "X-Type: application/x-ndjson"), Problem.RESPONSE_NOT_REPLAYABLE);
        executions.set(0);
        key = newKey();
        // Nothing else is one then, nor is the type itself where nobody flushes.
        RawResponse first = post(key, "X-Type: text/event-stream");
        assertReplayOf(first, post(key, "X-Type: text/event-stream"));
    }

    @Test
    void anEventStreamThatWasNeverFlushedIsKept() throws Exception {
        serve((request, response) -> {
            response.setContentType("text/event-stream");
            response.getOutputStream().print("data: only\n\n");
        });
        assertThat(replayed().text()).isEqualTo("data: only\n\n");
    }

    /** A status that isn't kept frees the key when the handler is done, and not while it may still do something. */
    @Test
    void aStreamThatIsNotKeptFreesTheKeyAtItsEnd() throws Exception {
        CountDownLatch entered = new CountDownLatch(1);
        CountDownLatch retried = new CountDownLatch(1);
        serve((request, response) -> {
            if (executions.get() > 1) {
                response.getWriter().print("second");
                return;
            }
            response.setStatus(503);
            response.setContentType("text/event-stream");
            response.getWriter().print("data: busy\n\n");
            response.flushBuffer();
            entered.countDown();
            retried.await(1, TimeUnit.MINUTES);
        });
        String key = newKey();
        try (Socket socket = connect()) {
            socket.getOutputStream().write((HEAD + key + "\r\n\r\n").getBytes(ISO_8859_1));
            assertThat(entered.await(1, TimeUnit.MINUTES)).isTrue();
            assertProblem(send("POST", "/handler", key, "text/plain", new byte[0]), Problem.IN_PROGRESS);
            retried.countDown();
            assertThat(new String(socket.getInputStream().readAllBytes(), ISO_8859_1))
                    .contains("data: busy");
        }
        assertThat(send("POST", "/handler", key, "text/plain", new byte[0]).text())
                .isEqualTo("second");
    }

    /** The declared length is the handler's own where the body isn't held. */
    @Test
    void aLongAnswerKeepsItsDeclaredLength() throws Exception {
        serve((request, response) -> {
            response.setContentLength(3_000_000);
            byte[] chunk = new byte[1000];
            for (int i = 0; i < 3000; i++) {
                response.getOutputStream().write(chunk);
            }
        });
        RawResponse first = post(newKey());
        assertThat(first.headers("Content-Length")).containsExactly("3000000");
        assertThat(first.headers("Transfer-Encoding")).isEmpty();
        assertThat(first.body().length()).isEqualTo(3_000_000);
        assertThat(first.framed()).isTrue();
    }
}
