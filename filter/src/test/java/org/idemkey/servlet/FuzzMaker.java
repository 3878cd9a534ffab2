// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.idemkey.servlet.FuzzOperation.act;
import static org.idemkey.servlet.FuzzOperation.see;

import jakarta.servlet.RequestDispatcher;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.Cookie;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpServletResponseWrapper;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import org.idemkey.servlet.FuzzOperation.Kind;

/** Makes random handlers. */
record FuzzMaker(SplittableRandom random) {

    FuzzProgram program() {
        return new FuzzProgram(random.nextInt(8) == 0, operations(12, true));
    }

    private List<FuzzOperation> operations(int most, boolean mayDispatch) {
        List<FuzzOperation> operations = new ArrayList<>();
        int count = 1 + random.nextInt(most);
        for (int i = 0; i < count; i++) {
            operations.add(operation(mayDispatch));
        }
        return operations;
    }

    private FuzzOperation operation(boolean mayDispatch) {
        return switch (random.nextInt(32)) {
            case 0, 1 -> status();
            case 2, 3, 4 -> header();
            case 5 -> numberOrDate();
            case 6, 7 -> type();
            case 8 -> encoding();
            case 9 -> locale();
            case 10, 11, 12, 13 -> print();
            case 14, 15, 16, 17 -> write();
            case 18 -> flush();
            case 19 -> close();
            case 20 -> act("reset()", HttpServletResponse::reset);
            case 21 -> act("resetBuffer()", HttpServletResponse::resetBuffer);
            case 22 -> bufferSize();
            case 23 -> length();
            case 24 -> error();
            case 25 -> redirect();
            case 26 -> cookie();
            case 27 -> mayDispatch ? dispatch() : view();
            case 28 -> failure();
            default -> view();
        };
    }

    @SafeVarargs
    private <T> T any(T... choices) {
        return choices[random.nextInt(choices.length)];
    }

    private FuzzOperation status() {
        int status = any(200, 201, 202, 204, 205, 206, 299, 302, 304, 400, 404, 409, 500, 503, 599);
        return act("setStatus(" + status + ")", response -> response.setStatus(status));
    }

    private FuzzOperation header() {
        String name = any(
                "X-A",
                "x-a",
                "X-B",
                "Vary",
                "Content-Language",
                "Cache-Control",
                "X-A",
                "Set-Cookie",
                "ETag",
                "Location",
                "Age",
                "Server",
                "",
                "no token",
                null);
        String value = any(
                "v" + random.nextInt(9), "v", "a, b", "", " padded ", "tab\tx", "a\r\nX-Evil: 1", "caf\u00e9", null);
        String arguments = "Header(" + name + ", " + (value == null ? null : value.replace("\r\n", "CRLF")) + ")";
        return random.nextBoolean()
                ? act("set" + arguments, response -> response.setHeader(name, value))
                : act("add" + arguments, response -> response.addHeader(name, value));
    }

    private FuzzOperation numberOrDate() {
        int value = random.nextInt(1_000_000);
        return switch (random.nextInt(4)) {
            case 0 -> act("setIntHeader(" + value + ")", response -> response.setIntHeader("X-A", value));
            case 1 -> act("addIntHeader(" + value + ")", response -> response.addIntHeader("X-A", value));
            case 2 -> act("setDateHeader(" + value + ")", response -> response.setDateHeader("X-D", value * 1000L));
            default -> act("addDateHeader(" + value + ")", response -> response.addDateHeader("X-D", value * 1000L));
        };
    }

    private FuzzOperation type() {
        String type = any(
                "text/plain",
                "text/html;charset=UTF-8",
                "text/plain; charset=ISO-8859-1; format=flowed",
                "application/json",
                "image/png",
                "text/plain;charset=\"utf-16\"",
                "text/plain;charset=utf-8;a=b",
                "text/event-stream");
        return switch (random.nextInt(10)) {
            case 0 -> act("setContentType(null)", response -> response.setContentType(null));
            case 1 ->
                act("setHeader(Content-Type, " + type + ")", response -> response.setHeader("Content-Type", type));
            case 2 ->
                act("addHeader(content-type, " + type + ")", response -> response.addHeader("content-type", type));
            default -> act("setContentType(" + type + ")", response -> response.setContentType(type));
        };
    }

    private FuzzOperation encoding() {
        String encoding = any("UTF-8", "utf-8", "ISO-8859-1", "UTF-16", "US-ASCII", null);
        return act(
                Kind.ENCODING,
                "setCharacterEncoding(" + encoding + ")",
                response -> response.setCharacterEncoding(encoding));
    }

    private FuzzOperation locale() {
        Locale locale = any(Locale.GERMANY, Locale.JAPAN, Locale.ROOT, Locale.ENGLISH, null);
        return act("setLocale(" + locale + ")", response -> response.setLocale(locale));
    }

    private FuzzOperation print() {
        // Short or very long: where exactly a writer's buffer is full is each container's own affair.
        String unit = any("a", "hello", "caf\u00e9", "\u20ac\ud83d\udca5", "", "line\n");
        String text = unit.repeat(times(Math.max(1, unit.length())));
        return switch (random.nextInt(5)) {
            case 0 ->
                act(Kind.PRINT, "print(char)", response -> response.getWriter().write('x'));
            case 1 ->
                act(Kind.PRINT, "printf(7)", response -> response.getWriter().printf("%d", 7));
            default ->
                act(
                        Kind.PRINT,
                        "print(" + shortened(text) + ")",
                        response -> response.getWriter().print(text));
        };
    }

    private FuzzOperation write() {
        byte[] bytes = "stream \u00e9".repeat(times(8)).getBytes(UTF_8);
        int size = random.nextInt(40) == 0 ? 8191 + random.nextInt(3) : bytes.length;
        byte[] sized = Arrays.copyOf(bytes, size);
        return switch (random.nextInt(5)) {
            case 0 ->
                act(
                        Kind.WRITE,
                        "write(byte)",
                        response -> response.getOutputStream().write('y'));
            case 1 ->
                act(
                        Kind.WRITE,
                        "stream.print(text)",
                        response -> response.getOutputStream().print("text"));
            case 2 ->
                act(
                        Kind.WRITE,
                        "stream.print(beyond Latin-1)",
                        response -> response.getOutputStream().print("\u20ac"));
            default ->
                act(
                        Kind.WRITE,
                        "write(" + size + " bytes)",
                        response -> response.getOutputStream().write(sized));
        };
    }

    private int times(int unit) {
        return switch (random.nextInt(40)) {
            case 0 -> 60_000 / unit;
            case 1 -> 200_000 / unit;
            default -> 1 + random.nextInt(5);
        };
    }

    private static String shortened(String text) {
        return text.length() > 20 ? text.length() + " characters" : text.strip();
    }

    private FuzzOperation flush() {
        return switch (random.nextInt(3)) {
            case 0 -> act("flushBuffer()", HttpServletResponse::flushBuffer);
            case 1 ->
                act(
                        Kind.PRINT,
                        "writer.flush()",
                        response -> response.getWriter().flush());
            default ->
                act(
                        Kind.WRITE,
                        "stream.flush()",
                        response -> response.getOutputStream().flush());
        };
    }

    private FuzzOperation close() {
        return random.nextBoolean()
                ? act(
                        Kind.CLOSE,
                        "writer.close()",
                        response -> response.getWriter().close())
                : act(
                        Kind.CLOSE,
                        "stream.close()",
                        response -> response.getOutputStream().close());
    }

    private FuzzOperation bufferSize() {
        // A bigger one stays with the response when Tomcat uses it for another request.
        int size = any(1, 4096, 8192);
        return act("setBufferSize(" + size + ")", response -> response.setBufferSize(size));
    }

    private FuzzOperation length() {
        int length = any(0, 1, 5, 10, 20, 100, -1);
        return switch (random.nextInt(4)) {
            case 0 ->
                act(Kind.LENGTH, "setContentLength(" + length + ")", response -> response.setContentLength(length));
            case 1 ->
                act(
                        Kind.LENGTH,
                        "setHeader(Content-Length, " + length + ")",
                        response -> response.setHeader("Content-Length", Integer.toString(length)));
            default ->
                act(
                        Kind.LENGTH,
                        "setContentLengthLong(" + length + ")",
                        response -> response.setContentLengthLong(length));
        };
    }

    private FuzzOperation error() {
        int status = any(400, 404, 418, 500, 503, 409, 200);
        return switch (random.nextInt(3)) {
            case 0 -> act(Kind.END, "sendError(" + status + ")", response -> response.sendError(status));
            case 1 -> act(Kind.END, "sendError(" + status + ", null)", response -> response.sendError(status, null));
            default -> act(Kind.END, "sendError(" + status + ", why)", response -> response.sendError(status, "why"));
        };
    }

    private FuzzOperation redirect() {
        String location = any("/x", "x?a=1", "http://example.org/x", "//example.org/x", "");
        return act(Kind.END, "sendRedirect(" + location + ")", response -> response.sendRedirect(location));
    }

    private FuzzOperation cookie() {
        int value = random.nextInt(9);
        return act("addCookie(" + value + ")", response -> response.addCookie(new Cookie("c", "" + value)));
    }

    private FuzzOperation dispatch() {
        boolean forward = random.nextBoolean();
        boolean ofContext = random.nextBoolean();
        boolean wrapped = random.nextInt(3) == 0;
        String name = (ofContext ? "context." : "") + (forward ? "forward" : "include") + (wrapped ? "(wrapped)" : "");
        Kind kind = forward ? Kind.END : Kind.OTHER;
        return new FuzzOperation(name, kind, operations(4, false), (request, response, run) -> {
            RequestDispatcher target = ofContext
                    ? request.getServletContext().getRequestDispatcher("/target")
                    : request.getRequestDispatcher("/target");
            HttpServletResponse passed = wrapped ? new HttpServletResponseWrapper(response) : response;
            if (forward) {
                target.forward(request, passed);
            } else {
                target.include(request, passed);
            }
            return "done";
        });
    }

    private FuzzOperation failure() {
        return switch (random.nextInt(6)) {
            case 0 -> escape(new IOException("fuzz"));
            case 1 -> escape(new ServletException("fuzz"));
            case 2 -> escape(new IllegalStateException("fuzz"));
            // Not too often, or most handlers end early.
            default -> view();
        };
    }

    private static FuzzOperation escape(Exception exception) {
        String name = "throw " + exception.getClass().getSimpleName();
        return new FuzzOperation(name, Kind.ESCAPE, List.of(), (request, response, run) -> {
            throw exception;
        });
    }

    /** Without those of framing, which come when the head of the response is made. */
    private static List<String> names(HttpServletResponse response) {
        return response.getHeaderNames().stream()
                .filter(name -> !FuzzAnswers.NOT_COMPARED.contains(name.toLowerCase(Locale.ROOT)))
                .filter(name -> !name.equalsIgnoreCase("Content-Language") && !name.equalsIgnoreCase("Content-Type"))
                .toList();
    }

    private FuzzOperation view() {
        return switch (random.nextInt(12)) {
            case 0 -> see("isCommitted()", HttpServletResponse::isCommitted);
            case 1 -> see("getStatus()", HttpServletResponse::getStatus);
            case 2 -> see("getHeader(X-A)", response -> "" + response.getHeader("X-A"));
            case 3 -> see("getHeaders(X-A)", response -> List.copyOf(response.getHeaders("X-A")));
            case 4 -> see("containsHeader(X-B)", response -> response.containsHeader("X-B"));
            case 5 -> see("getContentType()", response -> "" + response.getContentType());
            case 6 -> see("getCharacterEncoding()", response -> "" + response.getCharacterEncoding());
            case 7 -> see("getHeader(none)", response -> "" + response.getHeader("X-None"));
            case 8 -> see("getHeaderNames()", FuzzMaker::names);
            case 9 -> see("containsHeader(Content-Type)", response -> response.containsHeader("Content-Type"));
            case 10 ->
                see(
                        "containsHeader(Content-Length)",
                        response -> response.isCommitted() || response.containsHeader("Content-Length"));
            default -> see("getLocale()", response -> "" + response.getLocale());
        };
    }
}
