// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.util.Objects.requireNonNull;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.ServletInputStream;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.io.UnsupportedEncodingException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Enumeration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.idemkey.RequestBody;
import org.jspecify.annotations.Nullable;

/** A request whose body was read before its handler came: the handler reads it again, in any way that servlets know. */
class BufferedRequest extends HttpServletRequestWrapper {

    private final RequestBody body;
    private final ServletResponse response;
    private @Nullable BodyStream stream;
    private @Nullable BufferedReader reader;
    private @Nullable FormParameters form;

    /** @param response the one that goes with it to the handler */
    BufferedRequest(HttpServletRequest request, RequestBody body, ServletResponse response) {
        super(request);
        this.body = body;
        this.response = response;
    }

    @Override
    public ServletInputStream getInputStream() {
        if (reader != null) {
            throw new IllegalStateException("getReader() has been called for this request");
        }
        if (stream == null) {
            stream = new BodyStream(body, this::later);
        }
        return stream;
    }

    @Override
    public BufferedReader getReader() throws UnsupportedEncodingException {
        if (stream != null) {
            throw new IllegalStateException("getInputStream() has been called for this request");
        }
        if (reader == null) {
            reader = new BufferedReader(new InputStreamReader(body.openStream(), charset(StandardCharsets.ISO_8859_1)));
        }
        return reader;
    }

    private Charset charset(Charset otherwise) throws UnsupportedEncodingException {
        String name = getCharacterEncoding();
        if (name == null) {
            name = getServletContext().getRequestCharacterEncoding();
        }
        try {
            return name == null ? otherwise : Charset.forName(name);
        } catch (IllegalArgumentException e) {
            throw new UnsupportedEncodingException(name);
        }
    }

    // With the body gone the container knows the query's parameters, and those of a form that was parsed before us.
    // They
    // are asked for each time, since a forward may bring more of them (Servlet 6.1 §9.1.1).

    @Override
    public @Nullable String getParameter(String name) {
        String[] values = getParameterValues(name);
        return values == null ? null : values[0];
    }

    @Override
    public String @Nullable [] getParameterValues(String name) {
        String[] ofQuery = super.getParameterValues(name);
        List<String> ofForm = form().of(name);
        if (ofForm.isEmpty()) {
            return ofQuery;
        }
        List<String> all = new ArrayList<>();
        if (ofQuery != null) {
            Collections.addAll(all, ofQuery);
        }
        all.addAll(ofForm);
        return all.toArray(new String[0]);
    }

    @Override
    public Enumeration<String> getParameterNames() {
        return Collections.enumeration(getParameterMap().keySet());
    }

    @Override
    public Map<String, String[]> getParameterMap() {
        Map<String, String[]> all = new LinkedHashMap<>(super.getParameterMap());
        for (String name : form().names()) {
            all.put(name, requireNonNull(getParameterValues(name)));
        }
        return Collections.unmodifiableMap(all);
    }

    private FormParameters form() {
        if (form == null) {
            form = new FormParameters();
            if (body.length() > 0 && MediaType.of(getContentType()).equals(FormParameters.MEDIA_TYPE)) {
                parse(form);
            }
        }
        return form;
    }

    private void parse(FormParameters target) {
        try (InputStream in = body.openStream()) {
            // Since Servlet 6.1 a broken form is an error; before, what is broken of it counts as not sent.
            target.addForm(in.readAllBytes(), charset(StandardCharsets.ISO_8859_1), isServlet61());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (IllegalArgumentException e) {
            throw new IllegalStateException("the parameters can't be parsed: " + e.getMessage(), e);
        }
    }

    private boolean isServlet61() {
        int major = getServletContext().getMajorVersion();
        return major > 6 || (major == 6 && getServletContext().getMinorVersion() >= 1);
    }

    /** Without arguments too the handler keeps this request; the container's own has no body any more. */
    @Override
    public AsyncContext startAsync() {
        return super.startAsync(this, response);
    }

    /** Whether the handler goes on asynchronously, and the body with it: then it is closed at the end of that. */
    boolean closesBody() {
        if (!isAsyncStarted()) {
            return false;
        }
        getAsyncContext().addListener(new BodyCloser(body));
        return true;
    }

    /** Runs a callback when the handler's thread has returned, or at once on a thread of the container's. */
    void later(HandlerCallback callback) {
        getAsyncContext().start(callback::run);
    }
}
