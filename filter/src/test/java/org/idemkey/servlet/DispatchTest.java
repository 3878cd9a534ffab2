// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static org.assertj.core.api.Assertions.assertThat;

import jakarta.servlet.DispatcherType;
import jakarta.servlet.http.Cookie;
import java.util.Locale;
import org.idemkey.Problem;
import org.junit.jupiter.api.Test;

/** Line 53: one request, one claim, whatever way it takes through the application. */
class DispatchTest extends ServletTest {

    private WebApp everywhere() {
        return new WebApp()
                .filter("/*", filter(), DispatcherType.values())
                .servlet("/target", (request, response) -> {
                    response.setHeader("X-Target", "1");
                    response.setContentType("text/plain");
                    response.getWriter().print("target " + request.getParameter("a"));
                })
                .servlet("/intruder", (request, response) -> {
                    // All of it is the includer's affair (Servlet 6.1 §9.3).
                    response.setStatus(500);
                    response.sendError(500);
                    response.sendRedirect("/intruder");
                    response.addCookie(new Cookie("intruder", "1"));
                    response.setContentLength(1);
                    response.setLocale(Locale.JAPAN);
                    response.reset();
                    response.getWriter().print("body");
                });
    }

    @Test
    void aForwardIsPartOfItsRequest() throws Exception {
        serve(everywhere(), (request, response) -> {
            response.getWriter().print("gone");
            request.getRequestDispatcher("/target?a=1").forward(request, response);
            assertThat(response.isCommitted()).isTrue();
            response.getWriter().print("ignored");
        });
        RawResponse first = replayed();
        assertThat(first.text()).isEqualTo("target 1");
        assertThat(first.headers("X-Target")).containsExactly("1");
        assertThat(store.calls()).isEqualTo(3);
    }

    @Test
    void anIncludeWritesABodyAndNothingElse() throws Exception {
        serve(everywhere(), (request, response) -> {
            response.setContentType("text/plain");
            response.getWriter().print("before ");
            request.getRequestDispatcher("/intruder").include(request, response);
            response.getWriter().print(" after");
        });
        String key = newKey();
        RawResponse first = post(key);
        RawResponse again = post(key);
        assertReplayOf(first, again);
        assertThat(first.status()).isEqualTo(200);
        assertThat(first.text()).isEqualTo("before body after");
        for (String name : new String[] {"Set-Cookie", "Location", "Content-Language"}) {
            assertThat(first.headers(name)).isEmpty();
            assertThat(again.headers(name)).isEmpty();
        }
    }

    @Test
    void anIncludeIsPartOfItsRequest() throws Exception {
        serve(everywhere(), (request, response) -> {
            response.getWriter().print("before ");
            request.getRequestDispatcher("/target?a=1").include(request, response);
            response.getWriter().print(" after");
        });
        RawResponse first = replayed();
        assertThat(first.text()).isEqualTo("before target 1 after");
        assertThat(first.headers("X-Target")).isEmpty();
        assertThat(store.calls()).isEqualTo(3);
    }

    @Test
    void aFilterMappedTwiceClaimsOnce() throws Exception {
        IdempotencyFilter filter = filter();
        serve(
                new WebApp().filter("/*", filter).filter("/handler/*", filter),
                (request, response) -> response.getWriter().print("once"));
        assertThat(replayed().text()).isEqualTo("once");
        assertThat(store.calls()).isEqualTo(3);
    }

    /** The one that comes first claims; one that lets a request pass leaves it to the next. */
    @Test
    void twoFiltersOverOneTable() throws Exception {
        IdempotencyFilter optional =
                new IdempotencyFilter(settings().required(false).build());
        serve(
                new WebApp().filter("/*", optional).filter("/handler/strict/*", filter()),
                (request, response) -> response.getWriter().print("ran"));
        assertThat(send("POST", "/handler", null, "text/plain", new byte[0]).text())
                .isEqualTo("ran");
        assertProblem(send("POST", "/handler/strict", null, "text/plain", new byte[0]), Problem.KEY_MISSING);
        String key = newKey();
        assertThat(send("POST", "/handler/strict", key, "text/plain", new byte[0])
                        .text())
                .isEqualTo("ran");
        assertThat(send("POST", "/handler/strict", key, "text/plain", new byte[0])
                        .isReplay())
                .isTrue();
        // One table: the other filter's path is another request with the same key.
        assertProblem(send("POST", "/handler", key, "text/plain", new byte[0]), Problem.MISMATCH);
        assertThat(store.calls()).isEqualTo(4);
    }

    /** A container may end the forward by closing a writer that nobody had asked for. */
    @Test
    void aForwardThatWritesNothingLeavesTypeAndOutputsAlone() throws Exception {
        serve(
                new WebApp()
                        .filter("/*", filter())
                        .servlet("/silent", (request, response) -> response.setContentType("application/json")),
                (request, response) -> {
                    request.getRequestDispatcher("/silent").forward(request, response);
                    response.getOutputStream().print("ignored");
                    response.getWriter().print("ignored");
                });
        RawResponse first = replayed();
        assertThat(contentType(first)).isEqualTo("application/json");
        assertThat(first.status()).isEqualTo(200);
        assertThat(first.body().length()).isZero();
    }

    @Test
    void anIncludeMayAskForABufferInVain() throws Exception {
        serve(
                new WebApp().filter("/*", filter()).servlet("/buffered", (request, response) -> {
                    response.setBufferSize(100_000);
                    response.getWriter().print(" and after");
                }),
                (request, response) -> {
                    response.getWriter().print("before");
                    request.getRequestDispatcher("/buffered").include(request, response);
                });
        assertThat(replayed().text()).isEqualTo("before and after");
    }

    @Test
    void aForwardOfARequestThatPassedIsNotJudgedAnew() throws Exception {
        store.goAway();
        serve(
                new WebApp()
                        .filter(
                                "/*",
                                new IdempotencyFilter(settings().failOpen(true).build()),
                                DispatcherType.REQUEST,
                                DispatcherType.FORWARD)
                        .servlet(
                                "/target",
                                (request, response) -> request.getInputStream().transferTo(response.getOutputStream())),
                (request, response) -> request.getRequestDispatcher("/target").forward(request, response));
        assertThat(post(newKey()).text()).isEqualTo("hello");
        assertThat(store.calls()).isEqualTo(1);
    }
}
