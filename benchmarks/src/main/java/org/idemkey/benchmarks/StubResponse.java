// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.WriteListener;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpServletResponseWrapper;
import java.lang.reflect.Proxy;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A response without a container, which forgets all but its status and type, and counts its body's bytes. */
final class StubResponse extends HttpServletResponseWrapper {

    private static final int BUFFER = 8192;

    private final Sink sink = new Sink();
    private int status = SC_OK;
    private @Nullable String type;

    StubResponse() {
        super((HttpServletResponse) Proxy.newProxyInstance(
                StubResponse.class.getClassLoader(),
                new Class<?>[] {HttpServletResponse.class},
                (proxy, called, arguments) -> {
                    throw new UnsupportedOperationException(called.getName());
                }));
    }

    /** How many bytes have been sent. */
    long sent() {
        return sink.sent;
    }

    @Override
    public void setStatus(int code) {
        status = code;
    }

    @Override
    public int getStatus() {
        return status;
    }

    @Override
    public void setContentType(@Nullable String contentType) {
        type = contentType;
    }

    @Override
    public @Nullable String getContentType() {
        return type;
    }

    @Override
    public void setHeader(String name, String value) {
        // Sent into the void.
    }

    @Override
    public void addHeader(String name, String value) {
        // Sent into the void.
    }

    @Override
    public @Nullable String getHeader(String name) {
        return name.equalsIgnoreCase("Content-Type") ? type : null;
    }

    @Override
    public boolean containsHeader(String name) {
        return false;
    }

    @Override
    public Collection<String> getHeaderNames() {
        return List.of();
    }

    @Override
    public void setContentLengthLong(long length) {
        // Sent into the void.
    }

    @Override
    public void setContentLength(int length) {
        // Sent into the void.
    }

    @Override
    public int getBufferSize() {
        return BUFFER;
    }

    @Override
    public boolean isCommitted() {
        return sink.sent > BUFFER;
    }

    @Override
    public ServletOutputStream getOutputStream() {
        return sink;
    }

    private static final class Sink extends ServletOutputStream {

        private long sent;

        @Override
        public void write(int b) {
            sent++;
        }

        @Override
        public void write(byte[] bytes, int offset, int length) {
            sent += length;
        }

        @Override
        public boolean isReady() {
            return true;
        }

        @Override
        public void setWriteListener(WriteListener listener) {
            throw new UnsupportedOperationException();
        }
    }
}
