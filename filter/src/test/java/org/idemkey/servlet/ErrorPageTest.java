// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static org.assertj.core.api.Assertions.assertThat;

import jakarta.servlet.DispatcherType;
import jakarta.servlet.RequestDispatcher;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Lines 33, 51 and 53: errors and exceptions take the container's own way, the first time and each time again. */
class ErrorPageTest extends ServletTest {

    private static final DispatcherType[] ALL_DISPATCHES = DispatcherType.values();

    private static void page(HttpServletRequest request, HttpServletResponse response) throws IOException {
        response.setContentType("text/plain");
        response.getWriter()
                .print("page for " + request.getAttribute(RequestDispatcher.ERROR_STATUS_CODE) + " "
                        + request.getAttribute(RequestDispatcher.ERROR_MESSAGE));
    }

    private WebApp withPages() {
        return new WebApp()
                .filter("/*", filter(), ALL_DISPATCHES)
                .servlet("/page", ErrorPageTest::page)
                .errorPage(404, "/page")
                .errorPage(500, "/page");
    }

    @Test
    void theApplicationsPageIsWhatAReplayReturnsToo() throws Exception {
        serve(withPages(), (request, response) -> {
            response.setHeader("X-Reason", "missing");
            response.getWriter().print("gone");
            response.sendError(404, "no such order");
            response.getWriter().print("ignored");
        });
        String key = newKey();
        RawResponse first = post(key);
        RawResponse again = post(key);

        assertReplayOf(first, again);
        assertThat(first.status()).isEqualTo(404);
        assertThat(first.text()).isEqualTo("page for 404 no such order");
        assertThat(again.headers("X-Reason")).isEqualTo(first.headers("X-Reason"));
    }

    @Test
    void anErrorWithoutMessageIsAnErrorAllTheSame() throws Exception {
        serve(withPages(), (request, response) -> response.sendError(404));
        assertThat(replayed().text()).startsWith("page for 404");
    }

    /** The very page that the container renders without us; whether it tells the message is its own choice. */
    @Test
    void theContainersPageIsWhatAReplayReturnsToo() throws Exception {
        IdempotencyFilter filter =
                new IdempotencyFilter(settings().required(false).build());
        serve(new WebApp().filter("/*", filter), (request, response) -> response.sendError(418, "a teapot"));
        RawResponse unprotected = post(null);
        executions.set(0);
        RawResponse first = replayed();
        assertThat(first.status()).isEqualTo(418);
        assertThat(first.text()).isNotEmpty().isEqualTo(unprotected.text());
        assertThat(first.headers("Content-Type")).isEqualTo(unprotected.headers("Content-Type"));
    }

    @Test
    void anErrorIsCommittedToItsHandler() throws Exception {
        serve(withPages(), (request, response) -> {
            response.sendError(404);
            assertThat(response.isCommitted()).isTrue();
            assertThat(response.getStatus()).isEqualTo(404);
            response.setStatus(200);
            response.setHeader("X-Late", "1");
            try {
                response.sendError(500);
                throw new AssertionError("a second error was accepted");
            } catch (IllegalStateException e) {
                // As it has to be.
            }
        });
        RawResponse first = replayed();
        assertThat(first.status()).isEqualTo(404);
        assertThat(first.headers("X-Late")).isEmpty();
    }

    @Test
    void anExceptionReachesTheContainerUnchangedAndItsPageIsRendered() throws Exception {
        AtomicReference<Throwable> seen = new AtomicReference<>();
        IllegalStateException thrown = new IllegalStateException("boom");
        serve(
                new WebApp()
                        .filter("/*", (request, response, chain) -> {
                            try {
                                chain.doFilter(request, response);
                            } catch (IOException | ServletException | RuntimeException e) {
                                seen.compareAndSet(null, e);
                                throw e;
                            }
                        })
                        .filter("/*", filter(), ALL_DISPATCHES)
                        .servlet("/page", ErrorPageTest::page)
                        .errorPage(500, "/page"),
                (request, response) -> {
                    response.getWriter().print("gone");
                    response.flushBuffer();
                    throw thrown;
                });
        String key = newKey();
        RawResponse first = post(key);
        assertThat(first.status()).isEqualTo(500);
        assertThat(first.text()).startsWith("page for 500");
        assertThat(seen).hasValue(thrown);
        RawResponse again = post(key);
        assertThat(again.isReplay()).isTrue();
        assertThat(again.status()).isEqualTo(500);
        assertThat(again.text()).startsWith("page for 500");
        assertThat(executions).hasValue(1);
    }

    /** Some containers keep them on the page, and others don't; a replay does as the first answer did. */
    @Test
    void headersSetBeforeAnExceptionAreReplayedWhereTheContainerKeepsThem() throws Exception {
        serve((request, response) -> {
            response.setHeader("X-Before", "1");
            response.addHeader("X-Before", "2");
            throw new IllegalStateException("after the headers");
        });
        String key = newKey();
        RawResponse first = post(key);
        RawResponse again = post(key);
        assertThat(first.status()).isEqualTo(500);
        assertThat(again.isReplay()).isTrue();
        assertThat(again.headers("X-Before")).isEqualTo(first.headers("X-Before"));
    }

    @Test
    void anExceptionsOwnPageIsRendered() throws Exception {
        serve(
                new WebApp()
                        .filter("/*", filter())
                        .servlet("/page", ErrorPageTest::page)
                        .errorPage(UnsupportedOperationException.class, "/page"),
                (request, response) -> {
                    throw new UnsupportedOperationException("not this one");
                });
        assertThat(post(newKey()).text()).startsWith("page for 500");
    }

    /** Not even an Error leaves the claim open. */
    @Test
    void whateverIsThrownEndsTheClaim() throws Exception {
        serve((request, response) -> {
            throw new StackOverflowError("deep");
        });
        String key = newKey();
        post(key);
        RawResponse again = post(key);
        assertThat(again.status()).isEqualTo(500);
        assertThat(again.isReplay()).isTrue();
        assertThat(executions).hasValue(1);
    }
}
