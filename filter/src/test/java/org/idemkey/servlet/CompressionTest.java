// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.WriteListener;
import jakarta.servlet.http.HttpFilter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpServletResponseWrapper;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;

/** Filters that change the body, outside ours and inside. */
class CompressionTest extends ServletTest {

    private static final String TEXT = "all the same ".repeat(3000);

    /** Compresses every answer, in the plain way of a filter that knows nothing of lengths. */
    private static final class Gzip extends HttpFilter {

        private static final long serialVersionUID = 1L;

        @Override
        protected void doFilter(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
                throws IOException, ServletException {
            response.setHeader("Content-Encoding", "gzip");
            try (GZIPOutputStream gzip = new GZIPOutputStream(response.getOutputStream())) {
                chain.doFilter(request, new Wrapper(response, gzip));
            }
        }

        private static final class Wrapper extends HttpServletResponseWrapper {

            private final ServletOutputStream out;
            private PrintWriter writer;

            Wrapper(HttpServletResponse response, GZIPOutputStream gzip) {
                super(response);
                out = new ServletOutputStream() {
                    @Override
                    public void write(int b) throws IOException {
                        gzip.write(b);
                    }

                    @Override
                    public void write(byte[] bytes, int offset, int length) throws IOException {
                        gzip.write(bytes, offset, length);
                    }

                    @Override
                    public boolean isReady() {
                        return true;
                    }

                    @Override
                    public void setWriteListener(WriteListener listener) {
                        throw new IllegalStateException();
                    }
                };
            }

            @Override
            public ServletOutputStream getOutputStream() {
                return out;
            }

            @Override
            public PrintWriter getWriter() {
                if (writer == null) {
                    writer = new PrintWriter(out, true, UTF_8);
                }
                return writer;
            }

            @Override
            public void flushBuffer() {
                // The compressed body isn't whole yet.
            }
        }
    }

    private static String unzipped(RawResponse response) throws IOException {
        assertThat(response.headers("Content-Encoding")).containsExactly("gzip");
        try (GZIPInputStream in =
                new GZIPInputStream(new ByteArrayInputStream(response.body().toByteArray()))) {
            return new String(in.readAllBytes(), UTF_8);
        }
    }

    private void assertCompressedAndReplayed() throws IOException {
        String key = newKey();
        RawResponse first = post(key);
        RawResponse again = post(key);
        assertReplayOf(first, again);
        assertThat(unzipped(first)).isEqualTo(TEXT);
        assertThat(unzipped(again)).isEqualTo(TEXT);
    }

    private static void answer(HttpServletRequest request, HttpServletResponse response) throws IOException {
        response.setContentType("text/plain;charset=UTF-8");
        response.getWriter().print(TEXT);
        response.getWriter().flush();
    }

    @Test
    void aCompressedBodyIsReplayedByteByByte() throws Exception {
        serve(new WebApp().filter("/*", filter()).filter("/*", new Gzip()), CompressionTest::answer);
        assertCompressedAndReplayed();
    }

    @Test
    void aReplayIsCompressedAnewByAnOuterFilter() throws Exception {
        serve(new WebApp().filter("/*", new Gzip()).filter("/*", filter()), CompressionTest::answer);
        assertCompressedAndReplayed();
    }

    /** An outer filter that adds to the body breaks no framing, as it wouldn't without us. */
    @Test
    void anOuterFilterMayLengthenTheBody() throws Exception {
        serve(
                new WebApp()
                        .filter("/*", (request, response, chain) -> {
                            HttpServletResponse wrapped =
                                    new HttpServletResponseWrapper((HttpServletResponse) response);
                            chain.doFilter(request, wrapped);
                            response.getOutputStream().print("\nfooter");
                        })
                        .filter("/*", filter()),
                (request, response) -> response.getOutputStream().print(TEXT));
        String key = newKey();
        RawResponse first = post(key);
        assertThat(first.text()).isEqualTo(TEXT + "\nfooter");
        assertReplayOf(first, post(key));
    }
}
