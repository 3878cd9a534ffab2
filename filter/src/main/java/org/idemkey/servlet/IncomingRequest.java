// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import jakarta.servlet.http.HttpServletRequest;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.security.Principal;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import java.util.Map;
import org.idemkey.ProtectedRequest;
import org.idemkey.RequestBody;
import org.jspecify.annotations.Nullable;

/** A servlet request as the engine sees it. */
final class IncomingRequest implements ProtectedRequest, AutoCloseable {

    private final HttpServletRequest request;
    private @Nullable RequestBody body;

    IncomingRequest(HttpServletRequest request) {
        this.request = request;
    }

    /** The body, if the engine has asked for it; then the container has it no more. */
    @Nullable
    RequestBody takenBody() {
        return body;
    }

    @Override
    public void close() {
        if (body != null) {
            body.close();
        }
    }

    @Override
    public String method() {
        return request.getMethod();
    }

    @Override
    public String path() {
        return request.getRequestURI();
    }

    @Override
    public @Nullable String query() {
        return request.getQueryString();
    }

    @Override
    public @Nullable String contentType() {
        return request.getContentType();
    }

    @Override
    public List<String> fieldLines(String name) {
        Enumeration<String> lines = request.getHeaders(name);
        return lines == null ? List.of() : Collections.list(lines);
    }

    @Override
    public @Nullable String caller() {
        Principal principal = request.getUserPrincipal();
        return principal != null ? principal.getName() : request.getRemoteUser();
    }

    @Override
    public RequestBody body(RequestBody.Limits limits) throws IOException {
        long declared = request.getContentLengthLong();
        // A container may send "100 Continue" as soon as the stream is asked for: a body that is too long isn't wanted.
        InputStream in = declared > limits.maxBytes() ? InputStream.nullInputStream() : request.getInputStream();
        RequestBody read = RequestBody.read(in, declared, limits);
        body = read;
        return read.length() == 0 && declared != 0 && isForm() ? parsedForm(limits) : read;
    }

    private boolean isForm() {
        return MediaType.of(request.getContentType()).equals(FormParameters.MEDIA_TYPE);
    }

    /** Some layer before us has asked for a parameter, so that the container has read the form: what it made of it. */
    private RequestBody parsedForm(RequestBody.Limits limits) throws IOException {
        ByteArrayOutputStream form = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(form)) {
            for (Map.Entry<String, String[]> parameter :
                    request.getParameterMap().entrySet()) {
                write(out, parameter.getKey());
                out.writeInt(parameter.getValue().length);
                for (String value : parameter.getValue()) {
                    write(out, value);
                }
            }
        }
        return RequestBody.read(new ByteArrayInputStream(form.toByteArray()), form.size(), limits);
    }

    private static void write(DataOutputStream out, String text) throws IOException {
        out.writeInt(text.length());
        out.writeChars(text);
    }
}
