// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import jakarta.servlet.WriteListener;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Set;
import org.idemkey.Bytes;
import org.idemkey.MediaType;
import org.idemkey.StoredResponse;
import org.jspecify.annotations.Nullable;

/**
 * The body of a response that is held back, and whether the handler may still change what goes before it.
 *
 * <table>
 * <caption>States</caption>
 * <tr><th>state</th><th>what the handler sees</th><th>what the client sees</th><th>left by</th></tr>
 * <tr><td>HOLDING</td><td>nothing committed</td><td>nothing</td><td>flush, a full buffer, the declared length, error or
 *   redirect: COMMITTED; past the limit: STREAMING</td></tr>
 * <tr><td>COMMITTED</td><td>committed: status and headers are frozen</td><td>nothing</td><td>past the limit, and at once
 *   where the type is a stream's: STREAMING</td></tr>
 * <tr><td>STREAMING</td><td>committed</td><td>what was held, then all that follows, as it is written</td><td>the end</td></tr>
 * <tr><td>DROPPING</td><td>committed; what it writes is dropped</td><td>another answer, at the end</td><td>the end</td></tr>
 * </table>
 *
 * <p>Before the first byte is streamed a tombstone is recorded, unless the status isn't kept anyway. If the claim turns
 * out to be lost then, what the handler writes is dropped instead, as it is after an exception.
 */
final class HeldBody {

    private enum State {
        HOLDING,
        COMMITTED,
        STREAMING,
        DROPPING
    }

    /** Ends the claim before the first byte of a streamed answer leaves. */
    interface Tombstones {

        /** The answer to be sent in place of the handler's; null if the handler's may leave. */
        @Nullable
        StoredResponse record(int status);
    }

    private final RecordingResponse response;
    private final HttpServletResponse container;
    private final Tombstones tombstones;
    private final int limit;
    private final Set<String> streamedTypes;
    private final HeldBytes held = new HeldBytes();

    // Volatile for a handler that is still writing on some thread when the container has given up on it.
    private volatile State state = State.HOLDING;
    private volatile boolean closed;
    private boolean flushed;
    private @Nullable StoredResponse replacement;
    private @Nullable WriteListener listener;
    private @Nullable NonBlockingOutput nonBlocking;

    /**
     * @param limit how many bytes are held back at most
     * @param streamedTypes the media types that are sent as they are flushed
     */
    HeldBody(
            RecordingResponse response,
            HttpServletResponse container,
            Tombstones tombstones,
            int limit,
            Set<String> streamedTypes) {
        this.response = response;
        this.container = container;
        this.tombstones = tombstones;
        this.limit = limit;
        this.streamedTypes = streamedTypes;
    }

    boolean isCommitted() {
        return state != State.HOLDING;
    }

    boolean isStreaming() {
        return state == State.STREAMING;
    }

    boolean isClosed() {
        return closed;
    }

    int size() {
        return held.size();
    }

    /** What is to be sent in place of all that the handler did; null if nothing is. */
    @Nullable
    StoredResponse replacement() {
        return replacement;
    }

    void clear() {
        held.clear();
    }

    void write(byte[] bytes, int offset, int length) throws IOException {
        if (closed || state == State.DROPPING) {
            return;
        }
        int wanted = state == State.STREAMING ? length : wanted(length);
        if (state != State.STREAMING && held.size() + (long) wanted > limit) {
            if (!hasBody()) {
                state = State.COMMITTED;
                return;
            }
            stream();
        }
        if (state == State.STREAMING) {
            pass(bytes, offset, wanted);
        } else if (state != State.DROPPING) {
            held.write(bytes, offset, wanted);
            if (held.size() > response.getBufferSize() || isComplete()) {
                commit();
            }
        }
    }

    /** Whether a byte of it will ever leave, by the status (RFC 9110 §15.3.6 among them) and the length declared. */
    private boolean hasBody() {
        int status = response.getStatus();
        return HeldResponse.hasBody(status)
                && status != HttpServletResponse.SC_RESET_CONTENT
                && response.declaredLength() != 0;
    }

    /** What goes past the declared length reaches no client. (A length of 0 may still be corrected.) */
    private int wanted(int length) {
        long declared = response.declaredLength();
        return declared > 0 ? (int) Math.min(length, Math.max(0, declared - held.size())) : length;
    }

    private void pass(byte[] bytes, int offset, int length) throws IOException {
        if (nonBlocking != null) {
            nonBlocking.write(bytes, offset, length);
        } else {
            container.getOutputStream().write(bytes, offset, length);
        }
    }

    private boolean isComplete() {
        return response.declaredLength() > 0 && held.size() >= response.declaredLength();
    }

    /** The declared length has changed: the body may be complete by it. */
    void lengthDeclared() {
        if (isComplete()) {
            state = State.COMMITTED;
        }
    }

    void flush() throws IOException {
        if (closed) {
            return;
        }
        flushed = true;
        commit();
        if (nonBlocking != null) {
            nonBlocking.flush();
        } else if (state == State.STREAMING) {
            container.flushBuffer();
        }
    }

    private void commit() throws IOException {
        if (state == State.HOLDING) {
            state = State.COMMITTED;
        }
        if (state == State.COMMITTED
                && hasBody()
                && streamedTypes.contains(
                        MediaType.parse(response.getContentType()).name())) {
            stream();
        }
    }

    /** Holds nothing back any more: what is there leaves now, and all else as it comes. */
    void stream() throws IOException {
        response.settleCharset();
        replacement = tombstones.record(response.getStatus());
        if (replacement != null) {
            state = State.DROPPING;
            held.clear();
            return;
        }
        state = State.STREAMING;
        if (response.declaredLength() >= 0) {
            container.setContentLengthLong(response.declaredLength());
        }
        if (listener != null) {
            nonBlocking = new NonBlockingOutput(container.getOutputStream(), listener, false);
            nonBlocking.start(held.toBytes().toByteArray());
        } else {
            held.writeTo(container.getOutputStream());
        }
        held.clear();
    }

    void close() throws IOException {
        if (closed) {
            return;
        }
        commit();
        closed = true;
        if (nonBlocking != null) {
            nonBlocking.close();
        } else if (state == State.STREAMING) {
            container.getOutputStream().close();
        }
    }

    /** To the handler the response is over; whatever it still writes is ignored. */
    void finish() {
        if (state == State.HOLDING) {
            state = State.COMMITTED;
        }
        closed = true;
    }

    /** Forgets all that is held, and takes nothing more. */
    void drop() {
        held.clear();
        closed = true;
        if (state != State.STREAMING) {
            state = State.DROPPING;
        }
    }

    // Non-blocking writes (Servlet 6.1 §5.4)

    /** Keeps the listener for the time when something leaves; true if it can be called now, as all fits in memory. */
    boolean listen(WriteListener writeListener) throws IOException {
        if (listener != null) {
            throw new IllegalStateException("there is a write listener already");
        }
        listener = writeListener;
        if (state != State.STREAMING) {
            return true;
        }
        nonBlocking = new NonBlockingOutput(container.getOutputStream(), writeListener, true);
        nonBlocking.start(new byte[0]);
        return false;
    }

    boolean isReady() {
        return nonBlocking == null || nonBlocking.isReady();
    }

    /** Runs a task when all that was written without blocking has left: now, or later on the container's thread. */
    void whenDrained(Runnable task) {
        if (nonBlocking == null) {
            task.run();
        } else {
            nonBlocking.whenDrained(task);
        }
    }

    // The end

    /** The body as the client is to get it; a handler may have written more than the length that it declared. */
    Bytes toBytes() {
        if (response.declaredLength() >= 0 && held.size() > response.declaredLength()) {
            held.truncate((int) response.declaredLength());
        }
        return held.toBytes();
    }

    /** Sends what was held back, and flushes and closes as the handler did. */
    void send(Bytes body) throws IOException {
        if (body.length() > 0) {
            body.writeTo(container.getOutputStream());
        }
        if (closed) {
            container.getOutputStream().close();
        } else if (flushed) {
            container.flushBuffer();
        }
    }
}
