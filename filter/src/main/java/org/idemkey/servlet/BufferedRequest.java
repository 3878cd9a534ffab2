// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletInputStream;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import jakarta.servlet.http.Part;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.io.UnsupportedEncodingException;
import java.nio.charset.Charset;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Enumeration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.idemkey.MediaType;
import org.idemkey.RequestBody;
import org.idemkey.servlet.FormParameters.BrokenFormException;
import org.jspecify.annotations.Nullable;

/** A request whose body was read before its handler came: the handler reads it again, in any way that servlets know. */
class BufferedRequest extends HttpServletRequestWrapper {

    private final RequestBody body;
    private final ServletResponse response;
    private @Nullable String encoding;
    private @Nullable BodyStream stream;
    private @Nullable BufferedReader reader;
    private @Nullable Map<String, String[]> queryOnly;
    private @Nullable FormParameters form;
    private @Nullable List<Part> parts;

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
            reader = new BufferedReader(new InputStreamReader(body.openStream(), charset(ISO_8859_1)));
        }
        return reader;
    }

    private Charset charset(Charset otherwise) throws UnsupportedEncodingException {
        Charset told = requestCharset();
        return told == null ? otherwise : told;
    }

    private @Nullable Charset requestCharset() throws UnsupportedEncodingException {
        String name = getCharacterEncoding();
        if (name == null) {
            name = getServletContext().getRequestCharacterEncoding();
        }
        return name == null ? null : charset(name);
    }

    private static Charset charset(String name) throws UnsupportedEncodingException {
        try {
            return Charset.forName(name);
        } catch (IllegalArgumentException e) {
            throw new UnsupportedEncodingException(name);
        }
    }

    @Override
    public @Nullable String getCharacterEncoding() {
        return encoding == null ? super.getCharacterEncoding() : encoding;
    }

    /** Kept here too: to the container the body has been read, and so it is too late. */
    @Override
    public void setCharacterEncoding(String name) throws UnsupportedEncodingException {
        super.setCharacterEncoding(name);
        if (reader == null && form == null && name != null) {
            encoding = charset(name).name();
        }
    }

    /** Overrides what Servlet 6.1 added; on 6.0 nobody calls it. */
    public void setCharacterEncoding(Charset charset) {
        if (reader == null && form == null) {
            encoding = charset.name();
        }
    }

    // With the body gone the container knows the query's parameters, and those of a form that was parsed before us.
    // They are asked for each time, since a forward may bring more of them (Servlet 6.1 §9.1.1).

    private Map<String, String[]> outerParameters() {
        if (queryOnly == null) {
            try {
                return super.getParameterMap();
            } catch (RuntimeException e) {
                if (!Container.missesBody(e)) {
                    throw e;
                }
                // Before it tells its query's parameters it wants the parts, each time. So the query is read here.
                queryOnly = queryParameters(e);
            }
        }
        return queryOnly;
    }

    private Map<String, String[]> queryParameters(RuntimeException otherwise) {
        FormParameters query = new FormParameters();
        String text = getQueryString();
        try {
            query.addForm((text == null ? "" : text).getBytes(ISO_8859_1), UTF_8, true);
        } catch (BrokenFormException e) {
            throw otherwise;
        }
        Map<String, String[]> parameters = new LinkedHashMap<>();
        query.names().forEach(name -> parameters.put(name, query.of(name).toArray(new String[0])));
        return parameters;
    }

    @Override
    public @Nullable String getParameter(String name) {
        String[] values = getParameterValues(name);
        return values == null ? null : values[0];
    }

    @Override
    public String @Nullable [] getParameterValues(String name) {
        return all(name, outerParameters().get(name));
    }

    private String @Nullable [] all(String name, String @Nullable [] outer) {
        List<String> inner = form().of(name);
        if (inner.isEmpty()) {
            return outer;
        }
        List<String> all = new ArrayList<>();
        if (outer != null) {
            Collections.addAll(all, outer);
        }
        all.addAll(inner);
        return all.toArray(new String[0]);
    }

    @Override
    public Enumeration<String> getParameterNames() {
        return Collections.enumeration(getParameterMap().keySet());
    }

    @Override
    public Map<String, String[]> getParameterMap() {
        Map<String, String[]> all = new LinkedHashMap<>(outerParameters());
        for (String name : form().names()) {
            all.put(name, requireNonNull(all(name, all.get(name))));
        }
        return Collections.unmodifiableMap(all);
    }

    private FormParameters form() {
        if (form == null) {
            form = new FormParameters();
            String type = MediaType.parse(Container.contentType(this)).name();
            try {
                if (body.length() > 0 && type.equals(FormParameters.MEDIA_TYPE)) {
                    addForm(form);
                } else if (body.length() > 0 && type.equals(BodyPart.MEDIA_TYPE)) {
                    addParts(form);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        return form;
    }

    private void addForm(FormParameters target) throws IOException {
        try (InputStream in = body.openStream()) {
            Charset charset = charset(Container.formEncoding(getServletContext()));
            target.addForm(in.readAllBytes(), charset, Container.refusesBrokenForms(getServletContext()));
        }
    }

    /** A part without a file's name is a parameter too, where the servlet takes parts (Servlet 6.1 §3.2). */
    private void addParts(FormParameters target) throws IOException {
        List<BodyPart> fields = new ArrayList<>();
        try {
            for (Part part : getParts()) {
                if (part instanceof BodyPart field && field.getName() != null && field.getSubmittedFileName() == null) {
                    fields.add(field);
                }
            }
        } catch (IllegalStateException | ServletException e) {
            return;
        }
        BodyPart.addFields(fields, target, getServletContext(), charset(Container.formEncoding(getServletContext())));
    }

    // Parts. The container's have gone with the body; whether the servlet takes any is still its affair.

    @Override
    public Collection<Part> getParts() throws IOException, ServletException {
        if (parts == null) {
            String type = Container.contentType(this);
            if (body.length() == 0 || !MediaType.parse(type).name().equals(BodyPart.MEDIA_TYPE)) {
                return super.getParts();
            }
            requireConfiguration();
            parts = BodyPart.all(body, type, getServletContext(), requestCharset());
        }
        return Collections.unmodifiableList(parts);
    }

    private void requireConfiguration() {
        try {
            super.getParts();
        } catch (IOException | ServletException | RuntimeException e) {
            if (Container.missesBody(e)) {
                return;
            }
            for (Throwable cause = e; cause != null; cause = cause.getCause()) {
                if (cause instanceof IllegalStateException refused) {
                    // The servlet takes no parts, or none of this size.
                    throw refused;
                }
            }
            // It does take them, and the container says in some other way that there is nothing to parse any more.
        }
    }

    @Override
    public @Nullable Part getPart(String name) throws IOException, ServletException {
        for (Part part : getParts()) {
            if (name.equals(part.getName())) {
                return part;
            }
        }
        return null;
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
