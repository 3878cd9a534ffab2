// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpServletResponseWrapper;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UnsupportedEncodingException;
import java.nio.charset.Charset;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.idemkey.Bytes;
import org.idemkey.StoredResponse;
import org.jspecify.annotations.Nullable;

/**
 * The handler's response: its body is held back until the claim has ended, so that no client sees an answer that isn't
 * recorded. The handler meets the rules that it would meet without us.
 *
 * <table>
 * <caption>States</caption>
 * <tr><th>state</th><th>what the handler sees</th><th>what the client sees</th><th>left by</th></tr>
 * <tr><td>HOLDING</td><td>nothing committed</td><td>nothing</td><td>flush, a full buffer, the declared length, error or
 *   redirect: COMMITTED; past the limit: STREAMING</td></tr>
 * <tr><td>COMMITTED</td><td>committed: status and headers are frozen</td><td>nothing</td><td>past the limit, and at once
 *   where the type is a stream's: STREAMING</td></tr>
 * <tr><td>STREAMING</td><td>committed</td><td>what was held, then all that follows, as it is written</td><td>the end</td></tr>
 * <tr><td>REPLACED</td><td>committed; what it writes is dropped</td><td>nothing, until another answer is sent at the
 *   end</td><td>the end</td></tr>
 * </table>
 *
 * <p>To STREAMING leads only the recording of a tombstone, or a status that isn't kept anyway; if the claim turns out to
 * be lost then, to REPLACED.
 */
final class HeldResponse extends RecordingResponse {

    private enum State {
        HOLDING,
        COMMITTED,
        STREAMING,
        REPLACED
    }

    /** Ends the claim before the first byte of a streamed answer leaves. */
    interface Tombstones {

        /** The answer to be sent in place of the handler's; null if the handler's may leave. */
        @Nullable
        StoredResponse record(int status);
    }

    private final Tombstones tombstones;
    private final int limit;
    private final Set<String> streamedTypes;
    private final HeldBytes held = new HeldBytes();

    private State state = State.HOLDING;
    private @Nullable HeldOutput output;
    private @Nullable HeldWriter encoder;
    private @Nullable PrintWriter writer;
    private boolean flushed;
    private boolean closed;
    private boolean isError;
    private @Nullable String errorMessage;
    private @Nullable StoredResponse replacement;
    private boolean trailers;

    /**
     * @param limit how many bytes of body are held back at most
     * @param streamedTypes the media types that are sent as they are flushed
     */
    HeldResponse(HttpServletResponse response, Tombstones tombstones, int limit, Set<String> streamedTypes) {
        super(response);
        this.tombstones = tombstones;
        this.limit = limit;
        this.streamedTypes = streamedTypes;
    }

    // What the filter asks and does

    boolean isStreaming() {
        return state == State.STREAMING;
    }

    /** What is to be sent in place of all that the handler did; null if nothing is. */
    @Nullable
    StoredResponse replacement() {
        return replacement;
    }

    /** The handler is done: an encoding that has an end gets it. */
    void end() throws IOException {
        if (encoder != null) {
            encoder.end();
        }
        if (declaredLength() >= 0 && held.size() > declaredLength()) {
            held.truncate((int) declaredLength());
        }
    }

    /** The whole answer, as it is to be recorded. */
    StoredResponse toStored() {
        int status = getStatus();
        if (status < 100 || status > 999) {
            // No HTTP status; whatever the container makes of it can't be given again.
            return StoredResponse.tombstone(SC_INTERNAL_SERVER_ERROR);
        }
        return isError
                ? StoredResponse.errorPage(status, recorded(), errorMessage == null ? "" : errorMessage)
                : StoredResponse.of(status, recorded(), hasBody(status) ? held.toBytes() : Bytes.EMPTY);
    }

    /** Sends what was held back, the way that the handler chose. */
    void send() throws IOException {
        if (isError) {
            Answers.sendError((HttpServletResponse) getResponse(), getStatus(), errorMessage);
            return;
        }
        if (state == State.STREAMING) {
            return;
        }
        if (hasBody(getStatus())) {
            if (!trailers && (declaredLength() >= 0 || !(getResponse() instanceof HttpServletResponseWrapper))) {
                super.setContentLengthLong(held.size());
            }
            if (held.size() > 0 || closed) {
                held.writeTo(super.getOutputStream());
            }
        }
        if (closed) {
            super.getOutputStream().close();
        } else if (flushed) {
            super.flushBuffer();
        }
    }

    /** Forgets the body: an exception goes on to the container, whose answer it will be. */
    void discard() {
        held.clear();
        closed = true;
    }

    private static boolean hasBody(int status) {
        return status >= 200 && status != SC_NO_CONTENT && status != SC_NOT_MODIFIED;
    }

    // The body

    void write(byte[] bytes, int offset, int length) throws IOException {
        if (closed || state == State.REPLACED) {
            return;
        }
        if (state != State.STREAMING && held.size() + (long) length > limit) {
            stream();
        }
        if (state == State.STREAMING) {
            super.getOutputStream().write(bytes, offset, length);
        } else if (state != State.REPLACED) {
            held.write(bytes, offset, length);
            if (held.size() > getBufferSize() || isComplete()) {
                commit();
            }
        }
    }

    private boolean isComplete() {
        return declaredLength() > 0 && held.size() >= declaredLength();
    }

    private void commit() throws IOException {
        if (state == State.HOLDING) {
            state = State.COMMITTED;
        }
        if (state == State.COMMITTED && streamedTypes.contains(MediaType.of(getContentType()))) {
            stream();
        }
    }

    private void stream() throws IOException {
        replacement = tombstones.record(getStatus());
        if (replacement != null) {
            state = State.REPLACED;
        } else {
            state = State.STREAMING;
            if (declaredLength() >= 0) {
                super.setContentLengthLong(declaredLength());
            }
            held.writeTo(super.getOutputStream());
        }
        held.clear();
    }

    void close() throws IOException {
        if (closed) {
            return;
        }
        if (encoder != null) {
            encoder.end();
        }
        commit();
        closed = true;
        if (state == State.STREAMING) {
            super.getOutputStream().close();
        }
    }

    // What the handler calls

    @Override
    public ServletOutputStream getOutputStream() {
        if (writer != null) {
            throw new IllegalStateException("getWriter() has been called for this response");
        }
        if (output == null) {
            output = new HeldOutput(this);
        }
        return output;
    }

    @Override
    public PrintWriter getWriter() throws IOException {
        if (output != null) {
            throw new IllegalStateException("getOutputStream() has been called for this response");
        }
        if (writer == null) {
            encoder = new HeldWriter(this, charset(fixCharset()));
            writer = new PrintWriter(encoder);
        }
        return writer;
    }

    private static Charset charset(String name) throws UnsupportedEncodingException {
        try {
            return Charset.forName(name);
        } catch (IllegalArgumentException e) {
            throw new UnsupportedEncodingException(name);
        }
    }

    @Override
    public void flushBuffer() throws IOException {
        if (closed) {
            return;
        }
        flushed = true;
        commit();
        if (state == State.STREAMING) {
            super.flushBuffer();
        }
    }

    @Override
    public boolean isCommitted() {
        return state != State.HOLDING || getResponse().isCommitted();
    }

    @Override
    void lengthDeclared() {
        if (isComplete()) {
            state = State.COMMITTED;
        }
    }

    @Override
    public void reset() {
        refuseIfCommitted();
        super.reset();
        forgetHeaders();
        forgetBody();
        output = null;
        writer = null;
        encoder = null;
    }

    @Override
    public void resetBuffer() {
        refuseIfCommitted();
        forgetBody();
    }

    private void forgetBody() {
        held.clear();
        if (encoder != null) {
            encoder.restart();
        }
    }

    @Override
    public void setBufferSize(int size) {
        refuseIfCommitted();
        if (held.size() > 0) {
            throw new IllegalStateException("content has been written");
        }
        super.setBufferSize(size);
    }

    private void refuseIfCommitted() {
        if (isCommitted()) {
            throw new IllegalStateException("the response is committed");
        }
    }

    @Override
    public void setTrailerFields(Supplier<Map<String, String>> supplier) {
        refuseIfCommitted();
        super.setTrailerFields(supplier);
        trailers = true;
    }

    @Override
    public void sendError(int status) throws IOException {
        sendError(status, null);
    }

    /** The container renders its page when the claim has ended; until then this is a committed response without body. */
    @Override
    public void sendError(int status, @Nullable String message) throws IOException {
        refuseIfCommitted();
        if (status < 200) {
            // An interim response, or a container's own way to cut the connection: neither is the answer.
            Answers.sendError((HttpServletResponse) getResponse(), status, message);
            return;
        }
        resetBuffer();
        setStatus(status);
        isError = true;
        errorMessage = message;
        finish();
    }

    @Override
    public void sendRedirect(String location) throws IOException {
        sendRedirect(location, SC_FOUND, true);
    }

    /** Overrides what Servlet 6.1 added; on 6.0 nobody calls it. */
    public void sendRedirect(String location, boolean clearBuffer) throws IOException {
        sendRedirect(location, SC_FOUND, clearBuffer);
    }

    /** Overrides what Servlet 6.1 added; on 6.0 nobody calls it. */
    public void sendRedirect(String location, int status) throws IOException {
        sendRedirect(location, status, true);
    }

    /**
     * The location is sent as it was given, relative or not (RFC 9110 §10.2.2): whether a container would make it
     * absolute is its own choice, and a replay must not depend on the host that it is asked through.
     */
    @SuppressWarnings("unused") // Servlet 6.1 added it and calls it; on 6.0 only the methods above do.
    public void sendRedirect(@Nullable String location, int status, boolean clearBuffer) throws IOException {
        refuseIfCommitted();
        if (location == null) {
            throw new IllegalArgumentException("no location to redirect to");
        }
        if (clearBuffer) {
            resetBuffer();
        }
        setStatus(status);
        setHeader("Location", location);
        finish();
    }

    /** To the handler the response is over; whatever it still writes is ignored. */
    private void finish() {
        state = State.COMMITTED;
        closed = true;
    }
}
