// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.Part;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.security.Principal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import java.util.Map;
import org.idemkey.MediaType;
import org.idemkey.ProtectedRequest;
import org.idemkey.RequestBody;
import org.jspecify.annotations.Nullable;

/** A servlet request as the engine sees it. */
final class IncomingRequest implements ProtectedRequest, AutoCloseable {

    private final HttpServletRequest request;
    private @Nullable RequestBody body;
    private @Nullable RequestBody parts;

    IncomingRequest(HttpServletRequest request) {
        this.request = request;
    }

    /** The body, if the engine has asked for it; then the container has it no more. The caller closes it. */
    @Nullable
    RequestBody takenBody() {
        closeParts();
        return body;
    }

    @Override
    public void close() {
        closeParts();
        if (body != null) {
            body.close();
        }
    }

    private void closeParts() {
        if (parts != null) {
            parts.close();
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
        String type = Container.contentType(request);
        // Where the container has parsed the parts, their boundary is gone from the body, and so it is from here.
        return parts == null || type == null ? type : MediaType.parse(type).without("boundary");
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
        if (read.length() == 0 && declared != 0) {
            // Some layer before us may have asked for a parameter or a part: then the container has read the body.
            String type = MediaType.parse(Container.contentType(request)).name();
            if (type.equals(FormParameters.MEDIA_TYPE)) {
                return parsedForm(limits);
            } else if (type.equals(BodyPart.MEDIA_TYPE)) {
                return parsedParts(limits);
            }
        }
        return read;
    }

    /** What the container has made of a form. */
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

    /** What the container has made of a multipart body, boundaries left out. */
    private RequestBody parsedParts(RequestBody.Limits limits) throws IOException {
        List<InputStream> all = new ArrayList<>();
        try {
            for (Part part : request.getParts()) {
                ByteArrayOutputStream head = new ByteArrayOutputStream();
                try (DataOutputStream out = new DataOutputStream(head)) {
                    for (String name : part.getHeaderNames()) {
                        for (String value : part.getHeaders(name)) {
                            write(out, name);
                            write(out, value);
                        }
                    }
                    out.writeInt(-1);
                    out.writeLong(part.getSize());
                }
                all.add(new ByteArrayInputStream(head.toByteArray()));
                all.add(part.getInputStream());
            }
        } catch (ServletException | IllegalStateException e) {
            // It isn't configured to take parts, so nobody has read any.
            return RequestBody.of(new byte[0]);
        }
        parts = RequestBody.read(new SequenceInputStream(Collections.enumeration(all)), -1, limits);
        return parts;
    }

    private static void write(DataOutputStream out, String text) throws IOException {
        out.writeInt(text.length());
        out.writeChars(text);
    }
}
