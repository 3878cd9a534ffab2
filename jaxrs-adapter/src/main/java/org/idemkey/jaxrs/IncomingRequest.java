// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs;

import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Form;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.SecurityContext;
import java.io.IOException;
import java.io.InputStream;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.security.Principal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.idemkey.ProtectedRequest;
import org.idemkey.RequestBody;
import org.jspecify.annotations.Nullable;

/** A request to a resource as the engine sees it. */
final class IncomingRequest implements ProtectedRequest {

    /** Where Jersey leaves the form that the servlet container has read before it. */
    private static final String FORM_READ_BEFORE = "jersey.config.server.representation.decoded.form";

    private final ContainerRequestContext request;
    private @Nullable RequestBody body;

    IncomingRequest(ContainerRequestContext request) {
        this.request = request;
    }

    /** The body, if it has been taken from the runtime and has to be given back. */
    @Nullable
    RequestBody takenBody() {
        return body;
    }

    @Override
    public String method() {
        return request.getMethod();
    }

    @Override
    public String path() {
        return request.getUriInfo().getRequestUri().getRawPath();
    }

    @Override
    public @Nullable String query() {
        return request.getUriInfo().getRequestUri().getRawQuery();
    }

    @Override
    public @Nullable String contentType() {
        return request.getHeaderString(HttpHeaders.CONTENT_TYPE);
    }

    @Override
    public List<String> fieldLines(String name) {
        List<String> lines = new ArrayList<>(1);
        for (Map.Entry<String, List<String>> field : request.getHeaders().entrySet()) {
            if (field.getKey().equalsIgnoreCase(name)) {
                lines.addAll(field.getValue());
            }
        }
        return lines;
    }

    @Override
    public @Nullable String caller() {
        SecurityContext security = request.getSecurityContext();
        Principal principal = security == null ? null : security.getUserPrincipal();
        return principal == null ? null : principal.getName();
    }

    @Override
    public RequestBody body(RequestBody.Limits limits) throws IOException {
        long declared = declaredLength();
        InputStream in = declared > limits.maxBytes() ? null : request.getEntityStream();
        RequestBody read = RequestBody.read(in == null ? InputStream.nullInputStream() : in, declared, limits);
        if (read.length() == 0 && (declared > 0 || isChunkedForm())) {
            return readBefore();
        }
        body = read;
        return read;
    }

    /**
     * Somebody has read the body before: a servlet filter that asked for a parameter, say. Without it two different
     * requests would be the same.
     */
    private RequestBody readBefore() {
        if (request.getProperty(FORM_READ_BEFORE) instanceof Form form) {
            StringBuilder text = new StringBuilder();
            form.asMap().forEach((name, values) -> {
                for (String value : values) {
                    text.append(URLEncoder.encode(name, StandardCharsets.UTF_8))
                            .append('=')
                            .append(URLEncoder.encode(value, StandardCharsets.UTF_8))
                            .append('&');
                }
            });
            return RequestBody.of(text.toString().getBytes(StandardCharsets.UTF_8));
        }
        throw new IllegalStateException("the body of a protected request was read before its key could be claimed;"
                + " a servlet filter that asks for a form's parameters does so");
    }

    private boolean isChunkedForm() {
        String type = contentType();
        return type != null
                && !fieldLines("Transfer-Encoding").isEmpty()
                && type.regionMatches(
                        true,
                        0,
                        MediaType.APPLICATION_FORM_URLENCODED,
                        0,
                        MediaType.APPLICATION_FORM_URLENCODED.length());
    }

    private long declaredLength() {
        String length = request.getHeaderString(HttpHeaders.CONTENT_LENGTH);
        try {
            return length == null ? -1 : Long.parseLong(length.strip());
        } catch (NumberFormatException e) {
            return -1;
        }
    }
}
