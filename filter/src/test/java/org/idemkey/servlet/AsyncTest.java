// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletRequestWrapper;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpServletResponseWrapper;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.idemkey.Problem;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Line 52: what a handler answers after it has returned is recorded and replayed as well. */
class AsyncTest extends ServletTest {

    private final ExecutorService workers = Executors.newCachedThreadPool();

    @AfterEach
    void endWorkers() {
        workers.shutdownNow();
    }

    private WebApp mapped(DispatcherType... types) {
        return new WebApp().filter("/*", filter(), types);
    }

    private WebApp mappedToAsync() {
        return mapped(DispatcherType.REQUEST, DispatcherType.ASYNC);
    }

    private static void write(ServletResponse response, String text) {
        try {
            response.getWriter().print(text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    // complete()

    @Test
    void completionFromAnotherThreadIsRecorded() throws Exception {
        serve((request, response) -> {
            AsyncContext async = request.startAsync();
            workers.execute(() -> {
                ((HttpServletResponse) async.getResponse()).setStatus(201);
                ((HttpServletResponse) async.getResponse()).setHeader("X-Late", "1");
                write(async.getResponse(), "from another thread");
                async.complete();
            });
        });
        String key = newKey();
        RawResponse first = post(key);
        RawResponse again = post(key);
        assertReplayOf(first, again);
        assertThat(first.status()).isEqualTo(201);
        assertThat(first.text()).isEqualTo("from another thread");
        assertThat(again.headers("X-Late")).containsExactly("1");
    }

    /** The claim ends when the container's thread has left the handler, not under its feet. */
    @Test
    void completionWithinTheHandlerWaitsForItsReturn() throws Exception {
        CountDownLatch completed = new CountDownLatch(1);
        serve((request, response) -> {
            AsyncContext async = request.startAsync();
            assertThat(async.hasOriginalRequestAndResponse()).isTrue();
            assertThat(request.getAsyncContext()).isSameAs(async);
            write(response, "one ");
            workers.execute(() -> {
                write(async.getResponse(), "two");
                async.complete();
                completed.countDown();
            });
            completed.await();
            assertThat(store.calls()).isEqualTo(1);
            assertThatIllegalStateException().isThrownBy(async::complete);
            assertThatIllegalStateException().isThrownBy(async::dispatch);
        });
        assertThat(replayed().text()).isEqualTo("one two");
    }

    @Test
    void aHandlersOwnWrappersAreKept() throws Exception {
        serve((request, response) -> {
            HttpServletRequest wrappedRequest = new HttpServletRequestWrapper(request);
            HttpServletResponse wrappedResponse = new HttpServletResponseWrapper(response);
            AsyncContext async = request.startAsync(wrappedRequest, wrappedResponse);
            assertThat(async.getRequest()).isSameAs(wrappedRequest);
            assertThat(async.getResponse()).isSameAs(wrappedResponse);
            assertThat(async.hasOriginalRequestAndResponse()).isFalse();
            async.start(() -> {
                write(wrappedResponse, "wrapped");
                async.complete();
            });
        });
        assertThat(replayed().text()).isEqualTo("wrapped");
    }

    @Test
    void theBodyIsReadAfterTheHandlersReturn() throws Exception {
        serve((request, response) -> {
            AsyncContext async = request.startAsync();
            workers.execute(() -> {
                try {
                    async.getRequest().getInputStream().transferTo(response.getOutputStream());
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
                async.complete();
            });
        });
        assertThat(replayed().text()).isEqualTo("hello");
    }

    @Test
    void anErrorIsSentOnCompletion() throws Exception {
        serve((request, response) -> {
            AsyncContext async = request.startAsync();
            workers.execute(() -> {
                try {
                    response.sendError(418, "a teapot");
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
                async.complete();
            });
        });
        assertThat(replayed().status()).isEqualTo(418);
    }

    // dispatch()

    @Test
    void anAsynchronousDispatchIsPartOfItsRequest() throws Exception {
        serve(mappedToAsync(), (request, response) -> {
            if (request.getDispatcherType() == DispatcherType.REQUEST) {
                response.setHeader("X-First", "1");
                AsyncContext async = request.startAsync();
                workers.execute(async::dispatch);
            } else {
                executions.decrementAndGet();
                write(response, "dispatched");
            }
        });
        String key = newKey();
        RawResponse first = post(key);
        RawResponse again = post(key);
        assertReplayOf(first, again);
        assertThat(first.text()).isEqualTo("dispatched");
        assertThat(again.headers("X-First")).containsExactly("1");
    }

    @Test
    void aDispatchToAnotherPathKeepsWhatWasWrittenBefore() throws Exception {
        serve(
                mappedToAsync().servlet("/target", (request, response) -> write(response, "after")),
                (request, response) -> {
                    if (request.getHeader("X-Warm-Up") == null) {
                        write(response, "before ");
                    }
                    request.startAsync().dispatch("/target");
                });
        warmUp();
        assertThat(replayed().text()).isEqualTo("before after");
    }

    /** A filter learns from its first ASYNC dispatch that it is mapped to them; there is no other way to know. */
    private void warmUp() throws IOException {
        assertThat(post(newKey(), "X-Warm-Up: 1").text()).isEqualTo("after");
        executions.set(0);
    }

    @Test
    void severalCyclesAreOneRequest() throws Exception {
        Queue<String> told = new ConcurrentLinkedQueue<>();
        serve(mappedToAsync(), (request, response) -> {
            Integer cycle = (Integer) request.getAttribute("cycle");
            int now = cycle == null ? 1 : cycle + 1;
            request.setAttribute("cycle", now);
            if (now > 1) {
                executions.decrementAndGet();
            }
            boolean warmUp = request.getHeader("X-Warm-Up") != null;
            if (!warmUp) {
                write(response, now + " ");
            } else if (now == 2) {
                write(response, "after");
            }
            if (now < (warmUp ? 2 : 3)) {
                AsyncContext async = request.startAsync();
                if (now == 1) {
                    async.addListener(new Rejoining(told));
                }
                workers.execute(async::dispatch);
            }
        });
        warmUp();
        await().untilAsserted(() -> assertThat(told).containsExactly("complete"));
        told.clear();
        assertThat(replayed().text()).isEqualTo("1 2 3 ");
        // The listener has joined each next cycle, and is told of the end once.
        await().untilAsserted(() -> assertThat(told).containsExactly("start", "complete"));
    }

    private record Rejoining(Queue<String> told) implements AsyncListener {

        @Override
        public void onStartAsync(AsyncEvent event) {
            told.add("start");
            event.getAsyncContext().addListener(this);
        }

        @Override
        public void onComplete(AsyncEvent event) {
            told.add("complete");
        }

        @Override
        public void onTimeout(AsyncEvent event) {
            told.add("timeout");
        }

        @Override
        public void onError(AsyncEvent event) {
            told.add("error");
        }
    }

    /** Then nobody could send at its end what is held back: better an answer that can't be replayed than none. */
    @Test
    void aDispatchPastAFilterThatIsNotMappedToAsyncLeavesATombstone() throws Exception {
        serve(mapped().servlet("/target", (request, response) -> write(response, "after")), (request, response) -> {
            write(response, "before ");
            request.startAsync().dispatch("/target");
        });
        String key = newKey();
        assertThat(post(key).text()).isEqualTo("before after");
        assertProblem(post(key), Problem.RESPONSE_NOT_REPLAYABLE);
        assertThat(executions).hasValue(1);
    }

    @Test
    void aDispatchPastTheFilterThatWritesNothingIsRecorded() throws Exception {
        serve(
                mapped().servlet("/target", (request, response) -> response.setStatus(204)),
                (request, response) -> request.startAsync().dispatch("/target"));
        String key = newKey();
        assertThat(post(key).status()).isEqualTo(204);
        await().untilAsserted(() -> assertThat(store.calls()).isEqualTo(2));
        RawResponse again = post(key);
        assertThat(again.isReplay()).isTrue();
        assertThat(again.status()).isEqualTo(204);
    }

    // Time-outs and errors

    @Test
    void aTimeOutThatNobodyAnswersIsKeptAsTheContainersError() throws Exception {
        serve((request, response) -> {
            response.setHeader("X-Before", "1");
            write(response, "never sent");
            request.startAsync().setTimeout(TIME_OUT);
        });
        RawResponse first = replayed500();
        assertThat(first.text()).doesNotContain("never sent");
    }

    private RawResponse replayed500() throws IOException {
        String key = newKey();
        RawResponse first = post(key);
        RawResponse again = post(key);
        assertThat(first.status()).isEqualTo(500);
        assertThat(first.isReplay()).isFalse();
        assertThat(again.status()).isEqualTo(500);
        assertThat(again.isReplay()).isTrue();
        assertThat(again.headers("X-Before")).isEqualTo(first.headers("X-Before"));
        assertThat(executions).hasValue(1);
        return first;
    }

    /** A 503 frees the key where the handler itself says so; but this handler may be at work still. */
    @Test
    void aListenersAnswerToATimeOutIsKeptWhateverItsStatus() throws Exception {
        serve((request, response) -> {
            AsyncContext async = request.startAsync();
            async.setTimeout(TIME_OUT);
            async.addListener(new Answering(503));
        });
        RawResponse first = replayed();
        assertThat(first.status()).isEqualTo(503);
        assertThat(first.text()).isEqualTo("answered by a listener");
    }

    @Test
    void aListenersAnswerToAnErrorIsKept() throws Exception {
        serve((request, response) -> {
            AsyncContext async = request.startAsync();
            async.addListener(new Answering(502));
            throw new IllegalStateException("after startAsync");
        });
        RawResponse first = replayed();
        assertThat(first.status()).isEqualTo(502);
        assertThat(first.text()).isEqualTo("answered by a listener");
    }

    @Test
    void anExceptionAfterStartAsyncIsKept() throws Exception {
        serve((request, response) -> {
            request.startAsync();
            throw new IllegalStateException("after startAsync");
        });
        String key = newKey();
        try {
            assertThat(post(key).status()).isEqualTo(500);
        } catch (EOFException e) {
            // Tomcat 10.1 cuts the connection, with and without a filter.
        }
        await().untilAsserted(() -> assertThat(store.calls()).isEqualTo(2));
        RawResponse again = post(key);
        assertThat(again.status()).isEqualTo(500);
        assertThat(again.isReplay()).isTrue();
        assertThat(executions).hasValue(1);
    }

    @Test
    void anExceptionInAnAsynchronousDispatchIsKept() throws Exception {
        serve(mappedToAsync(), (request, response) -> {
            if (request.getDispatcherType() == DispatcherType.ASYNC) {
                executions.decrementAndGet();
                throw new IllegalStateException("in the dispatch");
            }
            request.startAsync().dispatch();
        });
        replayed500();
    }

    /** Answers through the context that its event brings: that is ours, so the answer is recorded. */
    private record Answering(int status) implements AsyncListener {

        @Override
        public void onTimeout(AsyncEvent event) {
            answer(event);
        }

        @Override
        public void onError(AsyncEvent event) {
            answer(event);
        }

        private void answer(AsyncEvent event) {
            HttpServletResponse response =
                    (HttpServletResponse) event.getAsyncContext().getResponse();
            response.setStatus(status);
            write(response, "answered by a listener");
            event.getAsyncContext().complete();
        }

        @Override
        public void onComplete(AsyncEvent event) {}

        @Override
        public void onStartAsync(AsyncEvent event) {}
    }

    // Past the wrappers

    private static AsyncContext pastUs(HttpServletRequest request) {
        ServletRequest unwrapped = ((ServletRequestWrapper) request).getRequest();
        return unwrapped.startAsync();
    }

    /** Its end is told to nobody who could send what is held: it leaves at once, and can't be replayed. */
    @Test
    void aHandlerThatUnwrapsItsRequestIsNeverExecutedAgain() throws Exception {
        CountDownLatch left = new CountDownLatch(1);
        serve(
                new WebApp()
                        .filter("/*", (request, response, chain) -> {
                            chain.doFilter(request, response);
                            left.countDown();
                        })
                        .filter("/*", filter()),
                (request, response) -> {
                    write(response, "held ");
                    AsyncContext async = pastUs(request);
                    workers.execute(() -> {
                        await().until(() -> left.getCount() == 0);
                        async.complete();
                    });
                });
        String key = newKey();
        assertThat(post(key).text()).isEqualTo("held ");
        assertProblem(post(key), Problem.RESPONSE_NOT_REPLAYABLE);
        assertThat(executions).hasValue(1);
    }

    /** A container calls it asynchronous until its thread has returned. */
    @Test
    void aHandlerThatUnwrapsItsRequestAndCompletesAtOnceIsNeverExecutedAgain() throws Exception {
        serve((request, response) -> {
            write(response, "held ");
            pastUs(request).complete();
        });
        String key = newKey();
        assertThat(post(key).text()).isEqualTo("held ");
        assertProblem(post(key), Problem.RESPONSE_NOT_REPLAYABLE);
        assertThat(executions).hasValue(1);
    }

    /** Only watching, or failing open: the handler has the body all the same. */
    @Test
    void aRequestThatPassesMayBeAsynchronousToo() throws Exception {
        serve(
                new WebApp()
                        .filter(
                                "/*",
                                new IdempotencyFilter(settings().shadow(true).build())),
                (request, response) -> {
                    AsyncContext async = request.startAsync();
                    async.start(() -> {
                        try {
                            async.getRequest().getInputStream().transferTo(response.getOutputStream());
                        } catch (IOException e) {
                            throw new UncheckedIOException(e);
                        }
                        async.complete();
                    });
                });
        String key = newKey();
        post(key);
        assertThat(new String(post(key).body().toByteArray(), ISO_8859_1)).isEqualTo("hello");
        assertThat(executions).hasValue(2);
    }
}
