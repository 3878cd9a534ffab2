// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import jakarta.servlet.DispatcherType;
import jakarta.servlet.ReadListener;
import jakarta.servlet.ServletContext;
import jakarta.servlet.ServletInputStream;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import java.lang.reflect.Proxy;
import java.security.Principal;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A request without a container: what the filter asks of it costs next to nothing; all else fails. */
final class StubRequest extends HttpServletRequestWrapper {

    private static final List<String> KEY = List.of("\"8e03978e-40d5-43dd-bc93-6894a57f9324\"");

    private static final ServletContext CONTEXT = (ServletContext) Proxy.newProxyInstance(
            StubRequest.class.getClassLoader(),
            new Class<?>[] {ServletContext.class},
            (proxy, called, arguments) -> called.getName().equals("getServerInfo") ? "stub" : 6);

    private final String method;
    private final byte[] body;
    private final boolean declared;

    StubRequest(String method, byte[] body) {
        this(method, body, true);
    }

    /** @param declared whether its Content-Length says how long the body is */
    StubRequest(String method, byte[] body, boolean declared) {
        super((HttpServletRequest) Proxy.newProxyInstance(
                StubRequest.class.getClassLoader(),
                new Class<?>[] {HttpServletRequest.class},
                (proxy, called, arguments) -> {
                    throw new UnsupportedOperationException(called.getName());
                }));
        this.method = method;
        this.body = body;
        this.declared = declared;
    }

    @Override
    public String getMethod() {
        return method;
    }

    @Override
    public DispatcherType getDispatcherType() {
        return DispatcherType.REQUEST;
    }

    @Override
    public ServletContext getServletContext() {
        return CONTEXT;
    }

    @Override
    public boolean isAsyncStarted() {
        return false;
    }

    @Override
    public @Nullable Object getAttribute(String name) {
        return null;
    }

    @Override
    public void setAttribute(String name, Object value) {
        // Nobody asks for it again.
    }

    @Override
    public Enumeration<String> getHeaders(String name) {
        return Collections.enumeration(KEY);
    }

    @Override
    public String getRequestURI() {
        return "/payments";
    }

    @Override
    public @Nullable String getQueryString() {
        return null;
    }

    @Override
    public String getContentType() {
        return "application/json";
    }

    @Override
    public @Nullable Principal getUserPrincipal() {
        return null;
    }

    @Override
    public String getRemoteUser() {
        return "alice";
    }

    @Override
    public long getContentLengthLong() {
        return declared ? body.length : -1;
    }

    @Override
    public ServletInputStream getInputStream() {
        return new Body();
    }

    private final class Body extends ServletInputStream {

        private int at;

        @Override
        public int read() {
            return at == body.length ? -1 : body[at++] & 0xff;
        }

        @Override
        public int read(byte[] target, int offset, int length) {
            if (at == body.length) {
                return -1;
            }
            int read = Math.min(length, body.length - at);
            System.arraycopy(body, at, target, offset, read);
            at += read;
            return read;
        }

        @Override
        public boolean isFinished() {
            return at == body.length;
        }

        @Override
        public boolean isReady() {
            return true;
        }

        @Override
        public void setReadListener(ReadListener listener) {
            throw new UnsupportedOperationException();
        }
    }
}
