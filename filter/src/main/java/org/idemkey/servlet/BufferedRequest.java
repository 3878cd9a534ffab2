// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.ServletContext;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletInputStream;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import jakarta.servlet.http.Part;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.io.UnsupportedEncodingException;
import java.nio.charset.Charset;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Enumeration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.idemkey.MediaType;
import org.idemkey.RequestBody;
import org.jspecify.annotations.Nullable;

/** A request whose body was read before its handler came: the handler reads it again, in any way that servlets know. */
class BufferedRequest extends HttpServletRequestWrapper {

    private final RequestBody body;
    private final ServletResponse response;
    private @Nullable String encoding;
    private @Nullable BodyStream stream;
    private @Nullable BufferedReader reader;
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
        String name = getCharacterEncoding();
        if (name == null) {
            name = getServletContext().getRequestCharacterEncoding();
        }
        return name == null ? otherwise : charset(name);
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
            String type = MediaType.parse(getContentType()).name();
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
        Collection<Part> all;
        try {
            all = getParts();
        } catch (IllegalStateException | ServletException e) {
            return;
        }
        for (Part part : all) {
            if (part instanceof BodyPart field && field.getName() != null && field.getSubmittedFileName() == null) {
                target.add(field.getName(), field.text());
            }
        }
    }

    // Parts. The container's have gone with the body; whether the servlet takes any is still its affair.

    @Override
    public Collection<Part> getParts() throws IOException, ServletException {
        if (parts == null) {
            if (body.length() == 0 || !MediaType.parse(getContentType()).name().equals(BodyPart.MEDIA_TYPE)) {
                return super.getParts();
            }
            requireConfiguration();
            parts = BodyPart.all(body, getContentType(), charset(UTF_8), tempDirectory());
        }
        return Collections.unmodifiableList(parts);
    }

    private void requireConfiguration() {
        try {
            super.getParts();
        } catch (IOException | ServletException | RuntimeException e) {
            for (Throwable cause = e; cause != null; cause = cause.getCause()) {
                if (cause instanceof IllegalStateException refused) {
                    // The servlet takes no parts, or none of this size.
                    throw refused;
                }
            }
            // It does take them, but the container finds nothing to parse any more.
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

    private Path tempDirectory() {
        return getServletContext().getAttribute(ServletContext.TEMPDIR) instanceof File directory
                ? directory.toPath()
                : Path.of(System.getProperty("java.io.tmpdir"));
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
