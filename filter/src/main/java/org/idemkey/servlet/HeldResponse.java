// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.WriteListener;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpServletResponseWrapper;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.io.UnsupportedEncodingException;
import java.nio.charset.Charset;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.idemkey.Bytes;
import org.idemkey.StoredResponse;
import org.jspecify.annotations.Nullable;

/**
 * The handler's response. The handler meets the rules that it would meet without us; its body, errors and redirects are
 * held back until the claim has ended, so that no client sees an answer that isn't recorded.
 */
final class HeldResponse extends RecordingResponse {

    /** What the response has to know of the request's life. */
    interface Life extends HeldBody.Tombstones {

        /** Whether the handler is in an include, where it can write a body and nothing else. */
        boolean isIncluded();

        /** Whether an asynchronous dispatch has gone past our filter: then nobody will send at its end what is held. */
        boolean isBeyondReach();

        /**
         * Runs a callback of the handler's when its thread has returned, or at once on a thread of the container's.
         *
         * @throws IllegalStateException if the request isn't asynchronous
         */
        void later(HandlerCallback callback);
    }

    private final Life life;
    private final HeldBody body;

    private @Nullable HeldOutput output;
    private @Nullable HeldWriter encoder;
    private @Nullable PrintWriter writer;
    private boolean isError;
    private @Nullable String errorMessage;
    private boolean trailers;
    private boolean forwarding;
    private volatile @Nullable Thread answering;

    HeldResponse(HttpServletResponse response, Life life, int limit, Set<String> streamedTypes) {
        super(response);
        this.life = life;
        body = new HeldBody(this, response, life, limit, streamedTypes);
    }

    // What the filter asks and does

    HeldBody body() {
        return body;
    }

    /** The handler is done: an encoding that has an end gets it. */
    void end() throws IOException {
        if (encoder != null) {
            encoder.end();
        }
    }

    /** The whole answer, as it is to be recorded. */
    StoredResponse toStored() {
        int status = getStatus();
        if (body.isStreaming()) {
            return StoredResponse.tombstone(status);
        } else if (status < 100 || status > 999) {
            // No HTTP status; whatever the container makes of it can't be given again.
            return StoredResponse.tombstone(SC_INTERNAL_SERVER_ERROR);
        }
        return isError
                ? StoredResponse.errorPage(status, recorded(status), errorMessage == null ? "" : errorMessage)
                : StoredResponse.of(status, recorded(status), hasBody(status) ? body.toBytes() : Bytes.EMPTY);
    }

    /** Sends what was held back, in the way that the handler chose. */
    void send() throws IOException {
        if (isError) {
            Answers.sendError(container(), getStatus(), errorMessage);
        } else if (!body.isStreaming()) {
            Bytes bytes = hasBody(getStatus()) ? body.toBytes() : Bytes.EMPTY;
            // An outer layer that wraps the response may make it longer or shorter; then the length is its affair.
            boolean ours = !trailers && !(container() instanceof HttpServletResponseWrapper);
            if (hasBody(getStatus()) && (ours || declaredLength() >= 0)) {
                container().setContentLengthLong(bytes.length());
            }
            body.send(bytes);
        }
    }

    /** Sends another answer in place of the handler's, of which nothing has left. */
    void send(StoredResponse instead) throws IOException {
        backToOuter();
        Answers.send(container(), instead);
    }

    /** The container answers on this thread, and some do it through us; to everybody else the response is over. */
    void handBack() {
        answering = Thread.currentThread();
    }

    private boolean isHandedBack() {
        return answering == Thread.currentThread();
    }

    static boolean hasBody(int status) {
        return status >= 200 && status != SC_NO_CONTENT && status != SC_NOT_MODIFIED;
    }

    // What the handler's stream and writer do

    void write(byte[] bytes, int offset, int length) throws IOException {
        settleCharset();
        if (life.isBeyondReach() && !body.isStreaming()) {
            body.stream();
        }
        body.write(bytes, offset, length);
    }

    void close() throws IOException {
        unfixCharset();
        if (encoder != null && !body.isClosed()) {
            encoder.end();
        }
        body.close();
    }

    boolean isReady() {
        return body.isReady();
    }

    void listen(WriteListener listener) {
        try {
            if (body.listen(listener)) {
                life.later(new HandlerCallback() {
                    @Override
                    public void call() throws IOException {
                        listener.onWritePossible();
                    }

                    @Override
                    public void onError(Throwable failure) {
                        listener.onError(failure);
                    }
                });
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    // What the handler calls

    @Override
    public ServletOutputStream getOutputStream() {
        // Some containers end a forward by closing a writer, and the handler may not have asked for one.
        if (writer != null && !body.isClosed()) {
            throw new IllegalStateException("getWriter() has been called for this response");
        }
        if (output == null) {
            output = new HeldOutput(this);
        }
        return output;
    }

    @Override
    public PrintWriter getWriter() throws IOException {
        if (output != null && !body.isClosed()) {
            throw new IllegalStateException("getOutputStream() has been called for this response");
        }
        if (writer == null) {
            encoder = new HeldWriter(this, charset(fixCharset()));
            writer = new PrintWriter(encoder);
            if (forwarding) {
                return writer;
            }
        }
        settleCharset();
        return writer;
    }

    /**
     * Until a forward's end a writer may be the container's: some take one only to flush and close it, and on their own
     * response they don't. Such a one doesn't fix the encoding.
     */
    void setForwarding(boolean isForwarding) {
        if (!isForwarding) {
            settleCharset();
        }
        forwarding = isForwarding;
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
        if (!forwarding) {
            settleCharset();
        }
        body.flush();
    }

    @Override
    public boolean isCommitted() {
        return (body.isCommitted() && !isHandedBack()) || container().isCommitted();
    }

    @Override
    boolean isFrozen() {
        return isCommitted() || life.isIncluded();
    }

    @Override
    void lengthDeclared() {
        body.lengthDeclared();
    }

    @Override
    public void reset() {
        refuseIfCommitted();
        if (life.isIncluded()) {
            return;
        }
        container().reset();
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
        body.clear();
        if (encoder != null) {
            encoder.restart();
        }
    }

    @Override
    public void setBufferSize(int size) {
        if (life.isIncluded()) {
            return;
        }
        refuseIfCommitted();
        if (body.size() > 0) {
            throw new IllegalStateException("content has been written");
        }
        container().setBufferSize(size);
    }

    private void refuseIfCommitted() {
        if (isCommitted()) {
            throw new IllegalStateException("the response is committed");
        }
    }

    @Override
    public void setTrailerFields(Supplier<Map<String, String>> supplier) {
        refuseIfCommitted();
        container().setTrailerFields(supplier);
        trailers = true;
    }

    @Override
    public void sendError(int status) throws IOException {
        sendError(status, null);
    }

    /** The container renders its page when the claim has ended; until then this is a committed response without body. */
    @Override
    public void sendError(int status, @Nullable String message) throws IOException {
        if (life.isIncluded()) {
            return;
        }
        refuseIfCommitted();
        if (status < 200 || isHandedBack()) {
            // An interim response, or a container's own way to cut the connection, or its own answer: none is ours.
            Answers.sendError(container(), status, message);
            return;
        }
        resetBuffer();
        setStatus(status);
        isError = true;
        errorMessage = message;
        body.finish();
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
    @SuppressWarnings("unused") // Servlet 6.1 added it, with an exception that containers may throw and we need not.
    public void sendRedirect(@Nullable String location, int status, boolean clearBuffer) throws IOException {
        if (life.isIncluded()) {
            return;
        }
        refuseIfCommitted();
        if (location == null) {
            throw new IllegalArgumentException("no location to redirect to");
        }
        if (clearBuffer) {
            resetBuffer();
        }
        setStatus(status);
        setHeader("Location", location);
        body.finish();
    }
}
