// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.Cookie;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpServletResponseWrapper;
import java.nio.charset.Charset;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import org.idemkey.MediaType;
import org.idemkey.StoredResponse.Header;
import org.jspecify.annotations.Nullable;

/**
 * Passes status and headers on at once, so that the container's own rules make the first answer, and notes them, so that
 * a replay can do the same again. Two things are kept back because they belong to the body, and the body is held back:
 * its length, and how it is transferred.
 */
abstract class RecordingResponse extends HttpServletResponseWrapper {

    /** RFC 9110 §5.6.7. */
    private static final DateTimeFormatter HTTP_DATE =
            DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.US);

    private final HttpServletResponse container;
    private final HttpServletResponse shown;
    private final HeaderLog log = new HeaderLog();
    private final List<Header> outer = new ArrayList<>();
    private boolean typeTouched;
    private @Nullable String writerCharset;
    private boolean charsetPending;
    private final boolean keepsLocaleApart;
    private @Nullable String languageApart;
    private long declaredLength = -1;

    RecordingResponse(HttpServletResponse response) {
        super(response);
        container = response;
        shown = Container.shown(response);
        keepsLocaleApart = Container.keepsLocaleApart(response);
        for (String name : response.getHeaderNames()) {
            for (String value : response.getHeaders(name)) {
                Header.lenient(name, value, true).ifPresent(outer::add);
            }
        }
    }

    /**
     * What the handler has set and added, in order.
     *
     * @param status that they will be sent with
     */
    final List<Header> recorded(int status) {
        if (languageApart != null && status != SC_NOT_MODIFIED && status != SC_RESET_CONTENT) {
            log.set("Content-Language", languageApart);
        }
        String type = typeTouched ? contentTypeField() : null;
        List<Header> all = new ArrayList<>(log.lines().size() + 1);
        if (type != null) {
            Header.lenient("Content-Type", type, false).ifPresent(all::add);
        }
        all.addAll(log.lines());
        return all;
    }

    /** As it will be sent, where the container tells; its getter may write it in another way. */
    private @Nullable String contentTypeField() {
        String field = container.getHeader("Content-Type");
        return field == null ? container.getContentType() : field;
    }

    /** The response that what is held back is sent to. */
    final HttpServletResponse container() {
        return container;
    }

    /** See {@link Container#shown}. */
    @Override
    public final ServletResponse getResponse() {
        // In an include some containers put a response of their own between ours and what it wraps.
        ServletResponse wrapped = super.getResponse();
        return wrapped == container ? shown : wrapped;
    }

    /** Undoes all that the handler did, and nothing that was there before it. */
    final void backToOuter() {
        container.reset();
        forgetHeaders();
        container.setStatus(SC_OK);
        for (Header header : outer) {
            container.addHeader(header.name(), header.value());
        }
    }

    final void forgetHeaders() {
        log.clear();
        typeTouched = false;
        writerCharset = null;
        charsetPending = false;
        languageApart = null;
        declaredLength = -1;
    }

    /** The length that the handler promised, or a negative number. */
    final long declaredLength() {
        return declaredLength;
    }

    /** Fixes the encoding (Servlet 6.1 §5.6): when it is settled the type tells it, and nothing changes it any more. */
    final String fixCharset() {
        String charset = getCharacterEncoding();
        if (charset == null) {
            charset = "ISO-8859-1";
        }
        writerCharset = charset;
        charsetPending = !isCommitted();
        return charset;
    }

    /** Tells the container of {@link #fixCharset}, if it hasn't been told yet. */
    final void settleCharset() {
        if (charsetPending) {
            charsetPending = false;
            typeTouched = true;
            container.setCharacterEncoding(writerCharset);
        }
    }

    /** Undoes a {@link #fixCharset} that the container hasn't been told of. */
    final void unfixCharset() {
        if (charsetPending) {
            charsetPending = false;
            writerCharset = null;
        }
    }

    /** The length or the state has changed: the body may be complete now. */
    abstract void lengthDeclared();

    @Override
    public abstract boolean isCommitted();

    /** Whether status and headers can't be changed: committed, or in an include (Servlet 6.1 §9.3). */
    abstract boolean isFrozen();

    @Override
    public void setStatus(int status) {
        if (!isFrozen()) {
            container.setStatus(status);
        }
    }

    @Override
    public void setContentType(@Nullable String type) {
        if (isFrozen()) {
            return;
        }
        typeTouched = true;
        if (type == null || writerCharset == null) {
            container.setContentType(type);
        } else {
            container.setContentType(MediaType.parse(type).without("charset"));
            keepCharset();
        }
    }

    @Override
    public void setCharacterEncoding(@Nullable String encoding) {
        if (!isFrozen() && writerCharset == null) {
            typeTouched = true;
            container.setCharacterEncoding(encoding);
        }
    }

    /** Overrides what Servlet 6.1 added; on 6.0 nobody calls it. */
    public void setCharacterEncoding(@Nullable Charset encoding) {
        setCharacterEncoding(encoding == null ? null : encoding.name());
    }

    @Override
    public void setLocale(@Nullable Locale locale) {
        if (isFrozen()) {
            return;
        }
        typeTouched = true;
        container.setLocale(locale);
        if (keepsLocaleApart) {
            languageApart = locale == null ? null : locale.toLanguageTag();
        } else if (locale == null) {
            log.remove("Content-Language");
        } else {
            log.set("Content-Language", locale.toLanguageTag());
        }
        keepCharset();
    }

    /** The container doesn't know of our writer, and may have let a type or a locale change its encoding. */
    private void keepCharset() {
        if (writerCharset != null && !writerCharset.equalsIgnoreCase(getCharacterEncoding())) {
            container.setCharacterEncoding(writerCharset);
        }
    }

    @Override
    public void setContentLength(int length) {
        setContentLengthLong(length);
    }

    @Override
    public void setContentLengthLong(long length) {
        if (!isFrozen()) {
            declaredLength = Math.max(length, -1);
            lengthDeclared();
        }
    }

    @Override
    public void addCookie(Cookie cookie) {
        if (isFrozen()) {
            return;
        }
        String line = SetCookie.of(cookie);
        if (Container.resetKeepsCookies(container)) {
            container.addHeader("Set-Cookie", line);
        } else {
            container.addCookie(cookie);
        }
        log.add("Set-Cookie", line);
    }

    @Override
    public void setHeader(@Nullable String name, @Nullable String value) {
        if (isFrozen() || isSpecial(name, value)) {
            return;
        }
        container.setHeader(name, value);
        if (name != null && value != null) {
            log.set(name, value);
        } else if (name != null && !container.containsHeader(name)) {
            // Null removes a field since Servlet 6.1, and means nothing before.
            log.remove(name);
        }
    }

    @Override
    public void addHeader(@Nullable String name, @Nullable String value) {
        if (isFrozen() || isSpecial(name, value)) {
            return;
        }
        container.addHeader(name, value);
        if (name != null && value != null) {
            log.add(name, value);
        }
    }

    @Override
    public void setIntHeader(String name, int value) {
        setHeader(name, Integer.toString(value));
    }

    @Override
    public void addIntHeader(String name, int value) {
        addHeader(name, Integer.toString(value));
    }

    @Override
    public void setDateHeader(String name, long date) {
        setHeader(name, httpDate(date));
    }

    @Override
    public void addDateHeader(String name, long date) {
        addHeader(name, httpDate(date));
    }

    private static String httpDate(long millis) {
        return HTTP_DATE.format(Instant.ofEpochMilli(millis).atOffset(ZoneOffset.UTC));
    }

    private boolean isSpecial(@Nullable String name, @Nullable String value) {
        if (name == null || value == null) {
            return false;
        }
        if (name.equalsIgnoreCase("Content-Type")) {
            setContentType(value);
            return true;
        }
        if (name.equalsIgnoreCase("Content-Length")) {
            declareLength(value);
            return true;
        }
        // The body is written by us in one piece, or handed on to the container: how it travels isn't the handler's
        // say.
        return name.equalsIgnoreCase("Transfer-Encoding");
    }

    private void declareLength(String value) {
        try {
            setContentLengthLong(Long.parseLong(value.strip()));
        } catch (NumberFormatException e) {
            // No length; sending it would break the framing.
        }
    }

    @Override
    public boolean containsHeader(String name) {
        return isDeclaredLength(name) || container.containsHeader(name);
    }

    @Override
    public @Nullable String getHeader(String name) {
        return isDeclaredLength(name) ? Long.toString(declaredLength) : container.getHeader(name);
    }

    @Override
    public Collection<String> getHeaders(String name) {
        return isDeclaredLength(name) ? List.of(Long.toString(declaredLength)) : container.getHeaders(name);
    }

    private boolean isDeclaredLength(String name) {
        return declaredLength >= 0 && "Content-Length".equalsIgnoreCase(name);
    }
}
