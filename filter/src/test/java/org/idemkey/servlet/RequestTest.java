// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.nio.charset.Charset;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.idemkey.Problem;
import org.junit.jupiter.api.Test;

/** Every way to read a request whose body was read before. */
class RequestTest extends ServletTest {

    private static final String FORM = "application/x-www-form-urlencoded";

    /** Line 43. */
    @Test
    void streamAndReaderExcludeEachOther() throws Exception {
        serve((request, response) -> {
            boolean reader = request.getHeader("X-Reader") != null;
            String text;
            if (reader) {
                text = request.getReader().readLine();
                assertThat(request.getReader()).isSameAs(request.getReader());
                assertThatIllegalStateException().isThrownBy(request::getInputStream);
            } else {
                text = new String(request.getInputStream().readAllBytes(), UTF_8);
                assertThat(request.getInputStream().isFinished()).isTrue();
                assertThat(request.getInputStream().read()).isEqualTo(-1);
                assertThatIllegalStateException().isThrownBy(request::getReader);
            }
            response.getWriter().print(text);
        });
        assertThat(post(newKey()).text()).isEqualTo("hello");
        assertThat(post(newKey(), "X-Reader: 1").text()).isEqualTo("hello");
    }

    @Test
    void aReaderDecodesAsTheRequestSays() throws Exception {
        serve((request, response) -> {
            if (request.getHeader("X-Override") != null) {
                request.setCharacterEncoding("UTF-16");
            }
            response.setCharacterEncoding("UTF-8");
            response.getWriter().print(request.getReader().readLine());
        });
        assertThat(text("text/plain;charset=UTF-8", UTF_8)).isEqualTo("caf\u00e9");
        assertThat(text("text/plain", ISO_8859_1)).isEqualTo("caf\u00e9");
        assertThat(text("text/plain;charset=UTF-8", Charset.forName("UTF-16"), "X-Override: 1"))
                .isEqualTo("caf\u00e9");
    }

    private String text(String type, Charset charset, String... fields) throws IOException {
        return send("POST", "/handler", newKey(), type, "caf\u00e9".getBytes(charset), fields)
                .text();
    }

    // Line 44: forms.

    private static String parameters(HttpServletRequest request) {
        Map<String, List<String>> all = new TreeMap<>();
        for (String name : Collections.list(request.getParameterNames())) {
            all.put(name, List.of(request.getParameterValues(name)));
            assertThat(request.getParameter(name)).isEqualTo(all.get(name).get(0));
            assertThat(request.getParameterMap().get(name)).containsExactly(request.getParameterValues(name));
        }
        assertThat(request.getParameterMap()).hasSameSizeAs(all);
        assertThat(request.getParameter("absent")).isNull();
        assertThat(request.getParameterValues("absent")).isNull();
        return all.toString();
    }

    private void serveParameters() throws Exception {
        serve((request, response) -> {
            response.setCharacterEncoding("UTF-8");
            response.getWriter().print(parameters(request));
            response.getWriter().print(new String(request.getInputStream().readAllBytes(), ISO_8859_1));
        });
    }

    private String form(String method, String query, String type, String body) throws IOException {
        return send(method, "/handler" + query, newKey(), type, body.getBytes(ISO_8859_1))
                .text();
    }

    @Test
    void aFormsParametersFollowTheQuerysAndTheBodyIsStillThere() throws Exception {
        serveParameters();
        assertThat(form("POST", "?a=1&q=2", FORM + ";charset=UTF-8", "b=3&a=4&a=5&empty=&bare&=nameless&&x=%2B+y"))
                .isEqualTo("{=[nameless], a=[1, 4, 5], b=[3], bare=[], empty=[], q=[2], x=[+ y]}"
                        + "b=3&a=4&a=5&empty=&bare&=nameless&&x=%2B+y");
    }

    @Test
    void formsComeInUtf8AndInLatin1() throws Exception {
        serveParameters();
        assertThat(form("POST", "", FORM + ";charset=UTF-8", "a=%C3%A9")).startsWith("{a=[\u00e9]}");
        assertThat(form("POST", "", FORM + "; charset=\"utf-8\"", "a=\u00c3\u00a9"))
                .startsWith("{a=[\u00e9]}");
        assertThat(form("POST", "", FORM + ";charset=ISO-8859-1", "a=%E9")).startsWith("{a=[\u00e9]}");
    }

    @Test
    void aPatchMayBeAFormToo() throws Exception {
        serveParameters();
        assertThat(form("PATCH", "?a=1", FORM, "a=2")).startsWith("{a=[1, 2]}");
    }

    @Test
    void anotherTypeIsNoForm() throws Exception {
        serveParameters();
        assertThat(form("POST", "?a=1", "text/plain", "a=2")).isEqualTo("{a=[1]}a=2");
    }

    /** A layer before us that asks for a parameter makes the container read the form; its content still counts. */
    @Test
    void aFormThatWasReadBeforeUsIsStillToldFromAnother() throws Exception {
        List<String> seen = new ArrayList<>();
        serve(
                new WebApp()
                        .filter("/*", (request, response, chain) -> {
                            seen.add(request.getParameter("a"));
                            chain.doFilter(request, response);
                        })
                        .filter("/*", filter()),
                (request, response) -> response.getWriter().print(parameters(request)));
        String key = newKey();
        byte[] form = "a=1&b=2".getBytes(ISO_8859_1);
        RawResponse first = send("POST", "/handler", key, FORM, form);
        assertThat(first.text()).isEqualTo("{a=[1], b=[2]}");
        assertReplayOf(first, send("POST", "/handler", key, FORM, form));
        assertProblem(send("POST", "/handler", key, FORM, "a=1&b=3".getBytes(ISO_8859_1)), Problem.MISMATCH);
        assertThat(seen).containsExactly("1", "1", "1");
    }

    /** Line 55. */
    @Test
    void anEmptyBodyIsABody() throws Exception {
        serve((request, response) ->
                response.getWriter().print(request.getInputStream().readAllBytes().length));
        String key = newKey();
        RawResponse first = send("POST", "/handler", key, "text/plain", new byte[0]);
        assertThat(first.text()).isEqualTo("0");
        assertReplayOf(first, send("POST", "/handler", key, "text/plain", new byte[0]));
    }
}
