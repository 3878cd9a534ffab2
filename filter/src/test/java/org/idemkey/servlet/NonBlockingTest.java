// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.ReadListener;
import jakarta.servlet.ServletInputStream;
import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.WriteListener;
import jakarta.servlet.http.HttpServletRequest;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.idemkey.Bytes;
import org.idemkey.Problem;
import org.junit.jupiter.api.Test;

/** Line 46: reading and writing without blocking, through the wrappers. */
class NonBlockingTest extends ServletTest {

    private static byte[] random(int size) {
        byte[] bytes = new byte[size];
        new Random(size).nextBytes(bytes);
        return bytes;
    }

    /** Reads all of a request, then does what follows. */
    private abstract static class Reader implements ReadListener {

        final ServletInputStream in;
        final ByteArrayOutputStream read = new ByteArrayOutputStream();
        final AtomicInteger ends = new AtomicInteger();

        Reader(HttpServletRequest request) throws IOException {
            in = request.getInputStream();
        }

        @Override
        public void onDataAvailable() throws IOException {
            byte[] chunk = new byte[1000];
            while (in.isReady()) {
                int count = in.read(chunk);
                if (count < 0) {
                    return;
                }
                read.write(chunk, 0, count);
            }
        }

        @Override
        public void onError(Throwable failure) {
            throw new AssertionError(failure);
        }
    }

    /** Writes an array in pieces, then completes. */
    private static final class Writer implements WriteListener {

        private final AsyncContext async;
        private final ServletOutputStream out;
        private final byte[] bytes;
        private final int piece;
        private final Queue<Throwable> failures;
        private final AtomicInteger calls = new AtomicInteger();
        private int written;

        Writer(AsyncContext async, ServletOutputStream out, byte[] bytes, int piece, Queue<Throwable> failures) {
            this.async = async;
            this.out = out;
            this.bytes = bytes;
            this.piece = piece;
            this.failures = failures;
        }

        @Override
        public void onWritePossible() throws IOException {
            calls.incrementAndGet();
            while (out.isReady()) {
                if (written == bytes.length) {
                    async.complete();
                    return;
                }
                int length = Math.min(piece, bytes.length - written);
                out.write(bytes, written, length);
                written += length;
            }
        }

        @Override
        public void onError(Throwable failure) {
            failures.add(failure);
            async.complete();
        }
    }

    private final Queue<Throwable> failures = new ConcurrentLinkedQueue<>();

    @Test
    void anEchoWithoutBlockingIsReplayed() throws Exception {
        serve((request, response) -> {
            AsyncContext async = request.startAsync();
            Reader reader = new Reader(request) {
                @Override
                public void onAllDataRead() throws IOException {
                    assertThat(ends.incrementAndGet()).isEqualTo(1);
                    assertThat(in.isFinished()).isTrue();
                    ServletOutputStream out = async.getResponse().getOutputStream();
                    out.setWriteListener(new Writer(async, out, read.toByteArray(), 700, failures));
                }
            };
            reader.in.setReadListener(reader);
            assertThatIllegalStateException().isThrownBy(() -> reader.in.setReadListener(reader));
        });
        for (int size : new int[] {0, 1, 5000, 100_000}) {
            executions.set(0);
            String key = newKey();
            RawResponse first = send("POST", "/handler", key, "application/octet-stream", random(size));
            assertThat(first.body()).isEqualTo(Bytes.wrap(random(size)));
            assertReplayOf(first, send("POST", "/handler", key, "application/octet-stream", random(size)));
        }
        assertThat(failures).isEmpty();
    }

    @Test
    void listenersNeedAsynchronousMode() throws Exception {
        serve((request, response) -> {
            ServletOutputStream out = response.getOutputStream();
            assertThatNullPointerException().isThrownBy(() -> out.setWriteListener(null));
            assertThatNullPointerException()
                    .isThrownBy(() -> request.getInputStream().setReadListener(null));
            assertThatIllegalStateException()
                    .isThrownBy(() -> out.setWriteListener(new Writer(null, out, new byte[0], 1, failures)));
            out.print("blocking");
        });
        assertThat(replayed().text()).isEqualTo("blocking");
    }

    /** Callbacks come when the handler has returned, as from a container, and not in the midst of it. */
    @Test
    void callbacksWaitForTheHandlersReturn() throws Exception {
        Queue<String> order = new ConcurrentLinkedQueue<>();
        serve((request, response) -> {
            AsyncContext async = request.startAsync();
            ServletOutputStream out = response.getOutputStream();
            out.setWriteListener(new WriteListener() {
                @Override
                public void onWritePossible() {
                    order.add("callback");
                    async.complete();
                }

                @Override
                public void onError(Throwable failure) {
                    failures.add(failure);
                }
            });
            order.add("handler");
        });
        replayed();
        assertThat(order).containsExactly("handler", "callback");
    }

    @Test
    void aListenerIsToldOfItsOwnFailure() throws Exception {
        serve((request, response) -> {
            AsyncContext async = request.startAsync();
            ServletOutputStream out = response.getOutputStream();
            out.setWriteListener(new WriteListener() {
                @Override
                public void onWritePossible() throws IOException {
                    throw new IOException("the listener's own");
                }

                @Override
                public void onError(Throwable failure) {
                    failures.add(failure);
                    response.setStatus(422);
                    async.complete();
                }
            });
        });
        assertThat(replayed().status()).isEqualTo(422);
        assertThat(failures).extracting(Throwable::getMessage).containsExactly("the listener's own");
    }

    /** A listener that goes on reading on a thread of its own is told of the end once it has come. */
    @Test
    void theEndIsToldToWhomReadsElsewhere() throws Exception {
        CountDownLatch readAll = new CountDownLatch(1);
        CountDownLatch returned = new CountDownLatch(1);
        serve((request, response) -> {
            AsyncContext async = request.startAsync();
            Reader reader = new Reader(request) {
                @Override
                public void onDataAvailable() {
                    async.start(() -> {
                        try {
                            byte[] all = new byte[5];
                            int count = in.read(all);
                            readAll.countDown();
                            returned.await();
                            read.write(all, 0, count);
                            super.onDataAvailable();
                        } catch (IOException | InterruptedException e) {
                            failures.add(e);
                        }
                    });
                    // This returns when the last byte has been read, and before the reader has put it away.
                    try {
                        readAll.await();
                    } catch (InterruptedException e) {
                        failures.add(e);
                    }
                    async.start(returned::countDown);
                }

                @Override
                public void onAllDataRead() throws IOException {
                    async.getResponse().getOutputStream().write(read.toByteArray());
                    async.complete();
                }
            };
            reader.in.setReadListener(reader);
        });
        assertThat(replayed().text()).isEqualTo("hello");
        assertThat(failures).isEmpty();
    }

    /** Line 56, without blocking: past the limit the writer is told to wait for a client that doesn't read. */
    @Test
    void pastTheLimitTheAnswerIsStreamedAtTheClientsPace() throws Exception {
        byte[] answer = random(20_000_000);
        CountDownLatch waited = new CountDownLatch(1);
        serve(
                new WebApp()
                        .filter(
                                "/*",
                                new IdempotencyFilter(
                                        settings().maxResponseBytes(50_000).build())),
                (request, response) -> {
                    AsyncContext async = request.startAsync();
                    async.setTimeout(0);
                    ServletOutputStream out = response.getOutputStream();
                    Writer writer = new Writer(async, out, answer, 30_000, failures);
                    out.setWriteListener(new WriteListener() {
                        @Override
                        public void onWritePossible() throws IOException {
                            writer.onWritePossible();
                            if (writer.written < answer.length) {
                                waited.countDown();
                            }
                        }

                        @Override
                        public void onError(Throwable failure) {
                            writer.onError(failure);
                        }
                    });
                });
        String key = newKey();
        try (Socket socket = connect()) {
            socket.getOutputStream()
                    .write(("POST /handler HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"
                                    + "Content-Type: text/plain\r\nIdempotency-Key: " + key + "\r\n\r\n")
                            .getBytes(ISO_8859_1));
            assertThat(waited.await(1, TimeUnit.MINUTES)).isTrue();
            RawResponse first = RawResponse.read(new BufferedInputStream(socket.getInputStream()));
            assertThat(first.body()).isEqualTo(Bytes.wrap(answer));
            assertThat(first.framed()).isTrue();
        }
        assertThat(failures).isEmpty();
        assertProblem(send("POST", "/handler", key, "text/plain", new byte[0]), Problem.RESPONSE_NOT_REPLAYABLE);
        assertThat(executions).hasValue(1);
    }

    @Test
    void aStreamWithoutBlockingLeavesAtItsFirstFlush() throws Exception {
        serve((request, response) -> {
            AsyncContext async = request.startAsync();
            response.setContentType("text/event-stream");
            ServletOutputStream out = response.getOutputStream();
            out.setWriteListener(new WriteListener() {

                private int events;

                @Override
                public void onWritePossible() throws IOException {
                    while (out.isReady()) {
                        if (events == 3) {
                            async.complete();
                            return;
                        }
                        out.print("data: " + ++events + "\n\n");
                        if (out.isReady()) {
                            out.flush();
                        }
                    }
                }

                @Override
                public void onError(Throwable failure) {
                    failures.add(failure);
                }
            });
        });
        String key = newKey();
        assertThat(post(key).text()).isEqualTo("data: 1\n\ndata: 2\n\ndata: 3\n\n");
        assertThat(failures).isEmpty();
        assertProblem(post(key), Problem.RESPONSE_NOT_REPLAYABLE);
    }
}
