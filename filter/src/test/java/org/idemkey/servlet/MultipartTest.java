// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;

import jakarta.servlet.MultipartConfigElement;
import jakarta.servlet.ServletContext;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.Part;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.idemkey.Problem;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Lines 14 and 45: uploads. */
class MultipartTest extends ServletTest {

    private static final String DISPOSITION = "Content-Disposition: form-data; name=\"";

    private void serveParts(WebApp app, WebApp.Handler handler) throws Exception {
        start(app.multipartServlet("/handler/*", new MultipartConfigElement(""), (request, response) -> {
            executions.incrementAndGet();
            handler.handle(request, response);
        }));
    }

    private void serveParts(WebApp.Handler handler) throws Exception {
        serveParts(new WebApp().filter("/*", filter()), handler);
    }

    private static String body(String boundary, String... parts) {
        StringBuilder body = new StringBuilder();
        for (String part : parts) {
            body.append("--").append(boundary).append("\r\n").append(part).append("\r\n");
        }
        return body.append("--").append(boundary).append("--\r\n").toString();
    }

    private static final String[] PARTS = {
        DISPOSITION + "note\"\r\n\r\ncaf\u00e9",
        DISPOSITION
                + "file\"; filename=\"a \\\"b\\\" \u00e9.txt\"\r\nContent-Type: text/plain\r\nX-Any: 1\r\n\r\ncontent",
        DISPOSITION + "note\"\r\nContent-Type: text/plain;charset=UTF-8\r\n\r\ntwo"
    };

    private RawResponse upload(String key, String boundary, String... parts) throws IOException {
        return send(
                "POST",
                "/handler?note=zero",
                key,
                "multipart/form-data; boundary=" + boundary,
                body(boundary, parts).getBytes(UTF_8));
    }

    private static String describe(HttpServletRequest request) throws Exception {
        StringBuilder text = new StringBuilder();
        for (Part part : request.getParts()) {
            text.append(part.getName())
                    .append('|')
                    .append(part.getSubmittedFileName())
                    .append('|');
            text.append(part.getContentType())
                    .append('|')
                    .append(part.getSize())
                    .append('|');
            text.append(new String(part.getInputStream().readAllBytes(), UTF_8)).append('\n');
        }
        return text.toString();
    }

    @Test
    void partsAreThereAfterTheFingerprint() throws Exception {
        serveParts((request, response) -> {
            request.setCharacterEncoding("UTF-8");
            response.setCharacterEncoding("UTF-8");
            response.getWriter().print(describe(request));
            Part file = request.getPart("file");
            assertThat(file.getHeader("x-any")).isEqualTo("1");
            assertThat(file.getHeaders("X-Any")).containsExactly("1");
            assertThat(file.getHeaders("absent")).isEmpty();
            assertThat(file.getHeader("absent")).isNull();
            assertThat(file.getHeaderNames()).contains("content-disposition", "content-type", "x-any");
            assertThat(request.getPart("absent")).isNull();
            assertThat(request.getParameterValues("note")).containsExactly("zero", "caf\u00e9", "two");
            assertThat(request.getParameter("file")).isNull();
        });
        String key = newKey();
        RawResponse first = upload(key, "AaB03x", PARTS);
        assertThat(first.text()).isEqualTo("""
                        note|null|null|5|caf\u00e9
                        file|a "b" \u00e9.txt|text/plain|7|content
                        note|null|text/plain;charset=UTF-8|3|two
                        """);
        assertReplayOf(first, upload(key, "AaB03x", PARTS));
    }

    @Test
    void parametersComeFirstOrPartsDo() throws Exception {
        serveParts((request, response) -> {
            assertThat(request.getParameter("note")).isEqualTo("zero");
            assertThat(request.getParts()).hasSize(3);
            assertThat(request.getParameterMap().get("note")).hasSize(3);
        });
        assertThat(upload(newKey(), "B", PARTS).status()).isEqualTo(200);
    }

    @Test
    void anotherBoundaryIsTheSameRequestAndAnotherFileIsNot() throws Exception {
        serveParts((request, response) ->
                response.getWriter().print(request.getParts().size()));
        String key = newKey();
        RawResponse first = upload(key, "one", PARTS);
        assertReplayOf(first, upload(key, "two-two", PARTS));
        assertProblem(upload(key, "one", PARTS[0], PARTS[1].replace("content", "Content"), PARTS[2]), Problem.MISMATCH);
        assertProblem(upload(key, "one", PARTS[0], PARTS[1].replace("a \\", "b \\"), PARTS[2]), Problem.MISMATCH);
        assertProblem(upload(key, "one", PARTS[0], PARTS[1]), Problem.MISMATCH);
    }

    @Test
    void theRawBodyIsThereToo() throws Exception {
        WebApp.Handler echo = (request, response) -> request.getInputStream().transferTo(response.getOutputStream());
        serveParts(echo);
        assertThat(upload(newKey(), "raw", PARTS).text()).isEqualTo(body("raw", PARTS));
        serve(echo);
        assertThat(upload(newKey(), "raw", PARTS).text()).isEqualTo(body("raw", PARTS));
    }

    @Test
    void aServletThatTakesNoPartsHasNone() throws Exception {
        serve((request, response) -> {
            assertThat(request.getParameterMap()).containsOnlyKeys("note");
            try {
                request.getParts();
                response.setStatus(418);
            } catch (IllegalStateException e) {
                response.getWriter().print("refused");
            }
        });
        assertThat(upload(newKey(), "B", PARTS).text()).isEqualTo("refused");
    }

    @Test
    void aMalformedBodyIsAnErrorToItsReader() throws Exception {
        serveParts((request, response) -> {
            assertThatIOException().isThrownBy(request::getParts);
            response.getWriter().print("malformed");
        });
        byte[] body = "--B\r\nno end".getBytes(UTF_8);
        assertThat(send("POST", "/handler", newKey(), "multipart/form-data; boundary=B", body)
                        .text())
                .isEqualTo("malformed");
    }

    @Test
    void aPartIsWrittenToAFile(@TempDir Path directory) throws Exception {
        serveParts((request, response) -> {
            Part file = request.getPart("file");
            file.write(directory.resolve("absolute.txt").toString());
            file.write("idemkey-relative.txt");
            Object temporary = request.getServletContext().getAttribute(ServletContext.TEMPDIR);
            response.getWriter().print(Files.readString(directory.resolve("absolute.txt")));
            Path relative = Path.of(temporary == null ? System.getProperty("java.io.tmpdir") : temporary.toString())
                    .resolve("idemkey-relative.txt");
            response.getWriter().print(Files.readString(relative));
            Files.delete(relative);
            file.delete();
        });
        assertThat(upload(newKey(), "B", PARTS).text()).isEqualTo("contentcontent");
    }

    /** A layer before us that asks for parts makes the container read them; their content still counts. */
    @Test
    void partsThatWereReadBeforeUsAreStillToldFromOthers() throws Exception {
        serveParts(
                new WebApp()
                        .filter("/*", (request, response, chain) -> {
                            assertThat(((HttpServletRequest) request).getParts())
                                    .hasSize(2);
                            chain.doFilter(request, response);
                        })
                        .filter("/*", filter()),
                (request, response) ->
                        response.getWriter().print(request.getParts().size()));
        String key = newKey();
        RawResponse first = upload(key, "one", PARTS[0], PARTS[1]);
        assertThat(first.text()).isEqualTo("2");
        assertReplayOf(first, upload(key, "two", PARTS[0], PARTS[1]));
        assertProblem(upload(key, "one", PARTS[0], PARTS[1].replace("content", "Content")), Problem.MISMATCH);
    }

    /** Every part lies in the one temporary file of its request, which has no name. */
    @Test
    void largePartsLieInTheBodysFile() throws Exception {
        serveParts(
                new WebApp()
                        .filter(
                                "/*",
                                new IdempotencyFilter(
                                        settings().memoryBytes(100).build())),
                (request, response) ->
                        response.getWriter().print(describe(request).length()));
        String large = DISPOSITION + "file\"; filename=\"f\"\r\n\r\n" + "x".repeat(200_000);
        String key = newKey();
        RawResponse first = upload(key, "B", large, large);
        assertThat(Integer.parseInt(first.text())).isGreaterThan(400_000);
        assertReplayOf(first, upload(key, "B", large, large));
        OpenFiles.assertNoneLeft();
    }
}
