// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import java.io.IOException;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.Charset;

/** What lies below the handler's {@code PrintWriter}. Each write is encoded at once, so that nothing waits in here. */
final class HeldWriter extends Writer {

    private final HeldResponse response;
    private final Charset charset;
    private OutputStreamWriter encoder;
    private boolean closed;

    HeldWriter(HeldResponse response, Charset charset) {
        this.response = response;
        this.charset = charset;
        this.encoder = newEncoder();
    }

    private OutputStreamWriter newEncoder() {
        return new OutputStreamWriter(new Encoded(response), charset);
    }

    /** Forgets the half of a character that may be waiting for its other half. */
    void restart() {
        encoder = newEncoder();
    }

    /** Writes what an encoding needs at its end; nothing follows then. */
    void end() throws IOException {
        if (!closed) {
            closed = true;
            encoder.close();
        }
    }

    @Override
    public void write(char[] chars, int offset, int length) throws IOException {
        if (!closed) {
            encoder.write(chars, offset, length);
            encoder.flush();
        }
    }

    @Override
    public void write(String text, int offset, int length) throws IOException {
        if (!closed) {
            encoder.write(text, offset, length);
            encoder.flush();
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

    /** The encoder's own flush and close mean nothing to the response. */
    private static final class Encoded extends OutputStream {

        private final HeldResponse response;

        Encoded(HeldResponse response) {
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
    }
}
