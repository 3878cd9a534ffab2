// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.http.Cookie;
import jakarta.servlet.http.HttpServletResponse;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.idemkey.Bytes;
import org.idemkey.Problem;
import org.idemkey.servlet.ServletServer.Quirk;
import org.junit.jupiter.api.Test;

/** Every way to write a response: the handler meets the specification's rules, and the client the same answer twice. */
class ResponseTest extends ServletTest {

    // Line 47: writer and stream, encodings.

    @Test
    void writerAndStreamExcludeEachOtherUntilReset() throws Exception {
        serve((request, response) -> {
            response.getOutputStream();
            assertThatIllegalStateException().isThrownBy(response::getWriter);
            response.reset();
            response.getWriter();
            assertThatIllegalStateException().isThrownBy(response::getOutputStream);
            response.reset();
            response.getOutputStream().print("stream");
        });
        assertThat(replayed().text()).isEqualTo("stream");
    }

    @Test
    void aWriterEncodesInLatin1UnlessToldOtherwise() throws Exception {
        serve((request, response) -> {
            assertThat(response.getCharacterEncoding()).isEqualToIgnoringCase("ISO-8859-1");
            response.setContentType("text/plain");
            response.getWriter().print("caf\u00e9 \u20ac");
        });
        RawResponse first = replayed();
        assertThat(first.body()).isEqualTo(Bytes.wrap("caf\u00e9 ?".getBytes(ISO_8859_1)));
        assertThat(contentType(first)).isEqualTo("text/plain;charset=iso-8859-1");
    }

    @Test
    void theEncodingIsFixedOnceThereIsAWriter() throws Exception {
        serve((request, response) -> {
            response.setContentType("text/plain;charset=UTF-8");
            PrintWriter writer = response.getWriter();
            response.setCharacterEncoding("UTF-16");
            response.setContentType("text/html; charset=UTF-16");
            response.setLocale(Locale.JAPAN);
            assertThat(response.getCharacterEncoding()).isEqualToIgnoringCase("UTF-8");
            writer.print("caf\u00e9 \u20ac");
        });
        RawResponse first = replayed();
        assertThat(first.body()).isEqualTo(Bytes.wrap("caf\u00e9 \u20ac".getBytes(UTF_8)));
        assertThat(contentType(first)).isEqualTo("text/html;charset=utf-8");
    }

    /** A character beyond the basic plane may come in two halves; an encoding may have an end. */
    @Test
    void charactersInHalvesAndEncodingsWithAnEndAreWhole() throws Exception {
        serve((request, response) -> {
            response.setContentType("text/plain;charset=" + request.getHeader("X-Charset"));
            response.getWriter().write(0xd83d);
            response.getWriter().write(0xdca5);
            response.getWriter().print("\u65e5\u672c");
        });
        String text = "\ud83d\udca5\u65e5\u672c";
        for (String charset : new String[] {"UTF-8", "UTF-16", "ISO-2022-JP"}) {
            executions.set(0);
            String key = newKey();
            RawResponse first = post(key, "X-Charset: " + charset);
            assertThat(first.body()).isEqualTo(Bytes.wrap(text.getBytes(charset)));
            assertReplayOf(first, post(key, "X-Charset: " + charset));
        }
    }

    // Lines 48 and 49: reset, resetBuffer, flushBuffer, the buffer's size.

    /** What no client would get doesn't count: neither past the declared length, nor where there is no body. */
    @Test
    void aWriteThatReachesNobodyDoesNotGoPastTheLimit() throws Exception {
        serve((request, response) -> {
            if (request.getHeader("X-Status") == null) {
                response.setContentLength(10);
            } else {
                response.setStatus(304);
            }
            response.getOutputStream().write(new byte[2_000_000]);
        });
        assertThat(replayed().body().length()).isEqualTo(10);
        executions.set(0);
        String key = newKey();
        RawResponse first = post(key, "X-Status: 304");
        assertReplayOf(first, post(key, "X-Status: 304"));
        assertThat(first.status()).isEqualTo(304);
    }

    @Test
    void resetClearsBodyStatusAndHeaders() throws Exception {
        serve((request, response) -> {
            response.setStatus(402);
            response.setHeader("X-Gone", "1");
            response.addCookie(new Cookie("gone", "1"));
            response.setContentType("text/html");
            response.getWriter().print("gone");
            response.reset();
            assertThat(response.getStatus()).isEqualTo(200);
            assertThat(response.containsHeader("X-Gone")).isFalse();
            response.setHeader("X-Kept", "1");
            response.getOutputStream().print("kept");
        });
        String key = newKey();
        RawResponse first = post(key);
        RawResponse again = post(key);
        assertReplayOf(first, again);
        for (RawResponse response : new RawResponse[] {first, again}) {
            assertThat(response.status()).isEqualTo(200);
            assertThat(response.text()).isEqualTo("kept");
            assertThat(response.headers("X-Gone")).isEmpty();
            assertThat(response.headers("Set-Cookie")).isEmpty();
            assertThat(response.headers("X-Kept")).containsExactly("1");
        }
    }

    @Test
    void resetBufferClearsTheBodyAlone() throws Exception {
        serve((request, response) -> {
            response.setStatus(201);
            response.setHeader("X-Kept", "1");
            PrintWriter writer = response.getWriter();
            writer.print("gone");
            writer.write(0xd83d);
            response.resetBuffer();
            writer.print("kept");
        });
        String key = newKey();
        RawResponse first = post(key);
        RawResponse again = post(key);
        assertReplayOf(first, again);
        assertThat(first.status()).isEqualTo(201);
        assertThat(first.text()).isEqualTo("kept");
        assertThat(again.headers("X-Kept")).containsExactly("1");
    }

    @Test
    void flushCommitsThoughNothingHasLeft() throws Exception {
        serve((request, response) -> {
            response.setStatus(201);
            response.getOutputStream().print("one ");
            assertThat(response.isCommitted()).isFalse();
            response.flushBuffer();
            assertThat(response.isCommitted()).isTrue();
            assertFrozen(response);
            response.getOutputStream().print("two");
        });
        RawResponse first = replayed();
        assertThat(first.status()).isEqualTo(201);
        assertThat(first.text()).isEqualTo("one two");
        assertThat(first.headers("X-Late")).isEmpty();
        assertThat(first.headers("Set-Cookie")).isEmpty();
    }

    @Test
    void aFullBufferCommits() throws Exception {
        serve((request, response) -> {
            response.setBufferSize(20_000);
            ServletOutputStream out = response.getOutputStream();
            out.write(new byte[response.getBufferSize()]);
            assertThat(response.isCommitted()).isFalse();
            assertThatIllegalStateException().isThrownBy(() -> response.setBufferSize(40_000));
            out.write(0);
            assertThat(response.isCommitted()).isTrue();
            assertFrozen(response);
        });
        assertThat(replayed().body().length()).isGreaterThan(20_000);
    }

    @Test
    void closingTheStreamEndsTheBody() throws Exception {
        serve((request, response) -> {
            ServletOutputStream out = response.getOutputStream();
            out.print("all");
            out.close();
            assertThat(response.isCommitted()).isTrue();
            assertFrozen(response);
        });
        assertThat(replayed().text()).isEqualTo("all");
    }

    private static void assertFrozen(HttpServletResponse response) {
        int status = response.getStatus();
        response.setStatus(500);
        response.setHeader("X-Late", "1");
        response.addHeader("X-Late", "1");
        response.addIntHeader("X-Late", 1);
        response.setDateHeader("X-Late", 1);
        response.addCookie(new Cookie("late", "1"));
        response.setContentType("text/late");
        response.setContentLength(1);
        assertThat(response.getStatus()).isEqualTo(status);
        assertThat(response.containsHeader("X-Late")).isFalse();
        assertThatIllegalStateException().isThrownBy(response::reset);
        assertThatIllegalStateException().isThrownBy(response::resetBuffer);
        assertThatIllegalStateException().isThrownBy(() -> response.setBufferSize(100_000));
        assertThatIllegalStateException().isThrownBy(() -> response.sendError(500));
        assertThatIllegalStateException().isThrownBy(() -> response.sendRedirect("/late"));
    }

    // Line 50: lengths.

    @Test
    void theLengthIsTheBodysOwn() throws Exception {
        serve((request, response) -> {
            response.setContentLengthLong(100);
            assertThat(response.getHeader("Content-Length")).isEqualTo("100");
            response.getOutputStream().print("five!");
        });
        assertThat(replayed().headers("Content-Length")).containsExactly("5");
    }

    @Test
    void whatGoesPastTheDeclaredLengthIsNotSent() throws Exception {
        serve((request, response) -> {
            response.setHeader("Content-Length", "4");
            response.getOutputStream().print("four and more");
            assertThat(response.isCommitted()).isTrue();
        });
        RawResponse first = replayed();
        assertThat(first.text()).isEqualTo("four");
        assertThat(first.headers("Content-Length")).containsExactly("4");
    }

    /** Case 16: a handler that acts as a proxy may repeat the framing of the answer that it got. */
    @Test
    void theHandlerHasNoSayInTheTransfer() throws Exception {
        serve((request, response) -> {
            response.setHeader("Transfer-Encoding", "chunked");
            response.setHeader("Content-Length", "no number");
            response.getOutputStream().print("text");
        });
        RawResponse first = replayed();
        assertThat(first.headers("Content-Length").size()
                        + first.headers("Transfer-Encoding").size())
                .isEqualTo(1);
    }

    @Test
    void aStatusWithoutBodyHasNone() throws Exception {
        serve((request, response) -> {
            response.setStatus(Integer.parseInt(request.getHeader("X-Status")));
            response.getOutputStream().print("never sent");
        });
        for (String status : new String[] {"204", "304"}) {
            executions.set(0);
            String key = newKey();
            RawResponse first = post(key, "X-Status: " + status);
            RawResponse again = post(key, "X-Status: " + status);
            assertReplayOf(first, again);
            for (RawResponse response : new RawResponse[] {first, again}) {
                assertThat(response.headers("Transfer-Encoding")).isEmpty();
                boolean zero = status.equals("304") && has(Quirk.LENGTH_OF_NOT_MODIFIED);
                assertThat(response.headers("Content-Length")).isEqualTo(zero ? List.of("0") : List.of());
            }
        }
    }

    @Test
    void aRedirectIsReplayedAndWhatFollowsItIsIgnored() throws Exception {
        serve((request, response) -> {
            response.getOutputStream().print("gone");
            response.sendRedirect("/elsewhere?a=1");
            assertThat(response.isCommitted()).isTrue();
            assertFrozen(response);
            response.getOutputStream().print("ignored");
        });
        String key = newKey();
        RawResponse first = post(key);
        RawResponse again = post(key);
        assertReplayOf(first, again);
        for (RawResponse response : new RawResponse[] {first, again}) {
            assertThat(response.status()).isEqualTo(302);
            assertThat(response.headers("Location")).containsExactly("/elsewhere?a=1");
            assertThat(response.text()).isEmpty();
        }
    }

    @Test
    void datesAndNumbersAreHeadersToo() throws Exception {
        serve((request, response) -> {
            response.setDateHeader("X-Date", 784_111_777_000L);
            response.addDateHeader("X-Date", 0);
            response.setIntHeader("X-Number", 1);
            response.addIntHeader("X-Number", -2);
        });
        String key = newKey();
        for (RawResponse response : new RawResponse[] {post(key), post(key)}) {
            assertThat(response.headers("X-Date"))
                    .containsExactly("Sun, 06 Nov 1994 08:49:37 GMT", "Thu, 01 Jan 1970 00:00:00 GMT");
            assertThat(response.headers("X-Number")).containsExactly("1", "-2");
        }
        assertThat(executions).hasValue(1);
    }

    @Test
    void aHeaderThatIsSetTakesThePlaceOfAllLinesBefore() throws Exception {
        serve((request, response) -> {
            response.addHeader("X-Tag", "one");
            response.addHeader("x-tag", "two");
            response.setHeader("X-TAG", "three");
            response.addHeader("X-Tag", "four");
            response.setHeader("X-None", null);
            response.addHeader("X-None", null);
        });
        String key = newKey();
        for (RawResponse response : new RawResponse[] {post(key), post(key)}) {
            assertThat(response.headers("X-Tag")).containsExactly("three", "four");
            assertThat(response.headers("X-None")).isEmpty();
        }
        assertThat(executions).hasValue(1);
    }

    /** Line 69. */
    @Test
    void aValueWithLineBreaksSplitsNoReplay() throws Exception {
        serve((request, response) -> {
            try {
                response.setHeader("X-Note", "one\r\nX-Forged: two");
            } catch (IllegalArgumentException e) {
                // Some containers refuse it at once.
                response.setHeader("X-Note", "refused");
            }
        });
        String key = newKey();
        for (RawResponse response : new RawResponse[] {post(key), post(key)}) {
            assertThat(response.status()).isEqualTo(200);
            assertThat(response.headers("X-Note")).hasSize(1);
            assertThat(response.headers("X-Forged")).isEmpty();
        }
        assertThat(executions).hasValue(1);
    }

    @Test
    void aLanguageIsReplayed() throws Exception {
        serve((request, response) -> response.setLocale(Locale.forLanguageTag("de-CH")));
        String key = newKey();
        RawResponse first = post(key);
        RawResponse again = post(key);
        assertReplayOf(first, again);
        assertThat(again.headers("Content-Language")).isEqualTo(first.headers("Content-Language"));
        assertThat(first.headers("Content-Language")).containsExactly("de-CH");
    }

    /** Containers judge differently which of the two wins; what the client was told is told again. */
    @Test
    void aLanguageThatIsSetTwiceIsReplayedAsItWasSent() throws Exception {
        serve((request, response) -> {
            response.setLocale(Locale.GERMANY);
            response.setHeader("Content-Language", "fr");
            response.getWriter().print("bonjour");
        });
        String key = newKey();
        RawResponse first = post(key);
        assertThat(post(key).headers("Content-Language")).isEqualTo(first.headers("Content-Language"));
    }

    /** Line 54: trailers are passed on, but they are no headers, and no part of what is kept. */
    @Test
    void trailersArePassedOnOnce() throws Exception {
        serve((request, response) -> {
            response.setTrailerFields(() -> Map.of("X-Sum", "7"));
            response.getOutputStream().print("text");
            response.flushBuffer();
            assertThatIllegalStateException().isThrownBy(() -> response.setTrailerFields(Map::of));
        });
        String key = newKey();
        RawResponse first = post(key, "TE: trailers");
        assertThat(first.trailers()).extracting(RawResponse.Field::value).containsExactly("7");
        assertThat(first.headers("X-Sum")).isEmpty();
        RawResponse again = post(key, "TE: trailers");
        assertReplayOf(first, again);
        assertThat(again.trailers()).isEmpty();
        assertThat(again.headers("X-Sum")).isEmpty();
    }

    // Line 56: the limit and streams.

    @Test
    void aStreamLeavesAtItsFirstFlushWithATombstone() throws Exception {
        serve((request, response) -> {
            response.setContentType("text/event-stream");
            response.getWriter().print("data: 1\n\n");
            response.flushBuffer();
            response.getWriter().print("data: 2\n\n");
        });
        String key = newKey();
        assertThat(post(key).text()).isEqualTo("data: 1\n\ndata: 2\n\n");
        assertProblem(post(key), Problem.RESPONSE_NOT_REPLAYABLE);
        assertThat(executions).hasValue(1);
    }

    @Test
    void aStreamThatCanHaveNoBodyIsKept() throws Exception {
        serve((request, response) -> {
            response.setStatus(304);
            response.setContentType("text/event-stream");
            response.flushBuffer();
        });
        assertThat(replayed().status()).isEqualTo(304);
    }

    @Test
    void aBodyThatIsDeclaredEmptyIsKeptWhateverIsWritten() throws Exception {
        serve(
                new WebApp()
                        .filter(
                                "/*",
                                new IdempotencyFilter(
                                        settings().maxResponseBytes(10).build())),
                (request, response) -> {
                    response.setContentLength(0);
                    response.getOutputStream().print("more than ten bytes");
                });
        assertThat(replayed().body().length()).isZero();
    }

    @Test
    void anErrorWithinAStreamLeavesTheTombstone() throws Exception {
        serve(
                new WebApp()
                        .filter(
                                "/*",
                                new IdempotencyFilter(
                                        settings().maxResponseBytes(10).build())),
                (request, response) -> {
                    response.getOutputStream().print("more than ten bytes");
                    throw new IllegalStateException("too late for another answer");
                });
        String key = newKey();
        post(key);
        assertProblem(post(key), Problem.RESPONSE_NOT_REPLAYABLE);
        assertThat(executions).hasValue(1);
    }
}
