// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.util.Objects.requireNonNull;

import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.WriteListener;
import java.io.IOException;
import java.nio.ByteBuffer;

/** The stream that the handler writes to. */
final class HeldOutput extends ServletOutputStream {

    private final HeldResponse response;

    HeldOutput(HeldResponse response) {
        this.response = response;
    }

    @Override
    public void write(int b) throws IOException {
        response.write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
        response.write(bytes, offset, length);
    }

    /** Overrides what Servlet 6.1 added; on 6.0 nobody calls it. */
    public void write(ByteBuffer buffer) throws IOException {
        if (buffer.hasArray()) {
            int length = buffer.remaining();
            response.write(buffer.array(), buffer.arrayOffset() + buffer.position(), length);
            buffer.position(buffer.limit());
        } else {
            byte[] bytes = new byte[buffer.remaining()];
            buffer.get(bytes);
            response.write(bytes, 0, bytes.length);
        }
    }

    @Override
    public void flush() throws IOException {
        response.flushBuffer();
    }

    @Override
    public void close() throws IOException {
        response.close();
    }

    @Override
    public boolean isReady() {
        return response.isReady();
    }

    @Override
    public void setWriteListener(WriteListener listener) {
        response.listen(requireNonNull(listener, "listener"));
    }
}
