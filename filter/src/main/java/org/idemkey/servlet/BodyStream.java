// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import jakarta.servlet.ReadListener;
import jakarta.servlet.ServletInputStream;
import java.io.IOException;
import java.io.InputStream;
import org.idemkey.RequestBody;

/** The body, read again. All of it is there, so reading never blocks. */
final class BodyStream extends ServletInputStream {

    private final InputStream in;
    private long remaining;

    BodyStream(RequestBody body) {
        in = body.openStream();
        remaining = body.length();
    }

    @Override
    public int read() throws IOException {
        int b = in.read();
        if (b >= 0) {
            remaining--;
        }
        return b;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
        int read = in.read(target, offset, length);
        if (read > 0) {
            remaining -= read;
        }
        return read;
    }

    @Override
    public long skip(long count) throws IOException {
        long skipped = in.skip(count);
        remaining -= skipped;
        return skipped;
    }

    @Override
    public int available() {
        return (int) Math.min(Integer.MAX_VALUE, remaining);
    }

    @Override
    public boolean isFinished() {
        return remaining == 0;
    }

    @Override
    public boolean isReady() {
        return true;
    }

    @Override
    public void setReadListener(ReadListener listener) {
        throw new IllegalStateException("not in asynchronous mode");
    }
}
