// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.util.Objects.requireNonNull;

import jakarta.servlet.ReadListener;
import jakarta.servlet.ServletInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.idemkey.RequestBody;
import org.jspecify.annotations.Nullable;

/** The body, read again. All of it is there, so reading never blocks. */
final class BodyStream extends ServletInputStream {

    private final InputStream in;
    private final Consumer<HandlerCallback> later;
    private long remaining;
    private volatile @Nullable ReadListener listener;
    private volatile @Nullable Thread callbackThread;
    private volatile @Nullable Thread lastReader;
    private final AtomicBoolean endTaken = new AtomicBoolean();

    /**
     * @param later runs a callback when the handler's thread has returned, or at once on a thread of the container's;
     *     throws an IllegalStateException if the request isn't asynchronous
     */
    BodyStream(RequestBody body, Consumer<HandlerCallback> later) {
        in = body.openStream();
        remaining = body.length();
        this.later = later;
    }

    @Override
    public int read() throws IOException {
        int b = in.read();
        if (b >= 0) {
            advance(1);
        } else {
            endSeen();
        }
        return b;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
        int read = in.read(target, offset, length);
        if (read > 0) {
            advance(read);
        } else if (read < 0) {
            endSeen();
        }
        return read;
    }

    @Override
    public long skip(long count) throws IOException {
        long skipped = in.skip(count);
        advance(skipped);
        return skipped;
    }

    private void advance(long count) {
        lastReader = Thread.currentThread();
        remaining -= count;
    }

    @Override
    public int available() {
        return (int) Math.min(Integer.MAX_VALUE, remaining);
    }

    @Override
    public boolean isFinished() {
        boolean finished = remaining == 0;
        if (finished) {
            endSeen();
        }
        return finished;
    }

    @Override
    public boolean isReady() {
        if (remaining == 0) {
            endSeen();
        }
        return true;
    }

    /**
     * A listener that reads on a thread of its own is told of the end when that thread asks for more, not when the last
     * bytes are handed over: it may not have put them away yet.
     */
    private void endSeen() {
        ReadListener reader = listener;
        if (reader != null && Thread.currentThread() != callbackThread && endTaken.compareAndSet(false, true)) {
            try {
                later.accept(new End(reader));
            } catch (IllegalStateException e) {
                // The request has been completed meanwhile, so nobody waits for the end.
            }
        }
    }

    @Override
    public void setReadListener(ReadListener readListener) {
        requireNonNull(readListener, "listener");
        if (listener != null) {
            throw new IllegalStateException("there is a read listener already");
        }
        later.accept(new Listening(readListener));
        listener = readListener;
    }

    private final class Listening implements HandlerCallback {

        private final ReadListener reader;

        Listening(ReadListener reader) {
            this.reader = reader;
        }

        @Override
        public void call() throws IOException {
            callbackThread = Thread.currentThread();
            try {
                boolean readBefore = remaining == 0;
                if (!readBefore) {
                    reader.onDataAvailable();
                }
                boolean readHere = lastReader == Thread.currentThread() && remaining == 0;
                if ((readBefore || readHere) && endTaken.compareAndSet(false, true)) {
                    reader.onAllDataRead();
                }
            } finally {
                callbackThread = null;
            }
        }

        @Override
        public void onError(Throwable failure) {
            reader.onError(failure);
        }
    }

    private record End(ReadListener reader) implements HandlerCallback {

        @Override
        public void call() throws IOException {
            reader.onAllDataRead();
        }

        @Override
        public void onError(Throwable failure) {
            reader.onError(failure);
        }
    }
}
