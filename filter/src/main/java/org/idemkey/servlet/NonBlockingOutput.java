// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.WriteListener;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A streamed body of a handler that writes without blocking. What was held back, and the write that went past the limit,
 * wait here until the container can take them; meanwhile the handler is told that it must wait.
 */
final class NonBlockingOutput implements WriteListener {

    private final ServletOutputStream out;
    private final WriteListener listener;
    private final ReentrantLock lock = new ReentrantLock();
    private final Deque<byte[]> waiting = new ArrayDeque<>();
    private boolean writable;
    private boolean listenerWaits;
    private boolean flush;
    private boolean close;
    private boolean closed;
    private @Nullable Runnable drained;

    /**
     * @param listenerWaits whether the listener wants to be called; it needn't be while its handler writes without
     *     having been told to wait
     */
    NonBlockingOutput(ServletOutputStream out, WriteListener listener, boolean listenerWaits) {
        this.out = out;
        this.listener = listener;
        this.listenerWaits = listenerWaits;
    }

    /** Begins with these bytes, as soon as the container calls. */
    void start(byte[] first) {
        lock.lock();
        try {
            if (first.length > 0) {
                waiting.add(first);
            }
            out.setWriteListener(this);
        } finally {
            lock.unlock();
        }
    }

    void write(byte[] bytes, int offset, int length) throws IOException {
        lock.lock();
        try {
            if (length > 0) {
                waiting.add(Arrays.copyOfRange(bytes, offset, offset + length));
                drain();
            }
        } finally {
            lock.unlock();
        }
    }

    boolean isReady() {
        lock.lock();
        try {
            boolean ready = writable && waiting.isEmpty() && out.isReady();
            listenerWaits = !ready;
            writable = ready;
            return ready;
        } finally {
            lock.unlock();
        }
    }

    void flush() throws IOException {
        lock.lock();
        try {
            flush = true;
            drain();
        } finally {
            lock.unlock();
        }
    }

    void close() throws IOException {
        lock.lock();
        try {
            close = true;
            drain();
        } finally {
            lock.unlock();
        }
    }

    void whenDrained(Runnable task) {
        lock.lock();
        try {
            // Where it isn't ready the container will call, and the task is run then.
            if (!writable || !waiting.isEmpty() || !out.isReady()) {
                drained = task;
                return;
            }
        } finally {
            lock.unlock();
        }
        task.run();
    }

    /** Nothing may be written before the container's first call, and after that only as long as it is ready. */
    private void drain() throws IOException {
        while (writable && !waiting.isEmpty()) {
            writable = out.isReady();
            if (writable) {
                out.write(waiting.remove());
            }
        }
        if (waiting.isEmpty() && !closed && (flush || close) && writable && out.isReady()) {
            flush = false;
            if (close) {
                closed = true;
                out.close();
            } else {
                out.flush();
            }
        }
    }

    @Override
    public void onWritePossible() throws IOException {
        Runnable task;
        boolean call;
        lock.lock();
        try {
            writable = true;
            drain();
            boolean done = waiting.isEmpty() && (closed || out.isReady());
            task = done ? drained : null;
            call = done && task == null && !close && listenerWaits;
            if (call) {
                listenerWaits = false;
            }
        } finally {
            lock.unlock();
        }
        if (task != null) {
            task.run();
        } else if (call) {
            listener.onWritePossible();
        }
    }

    @Override
    public void onError(Throwable failure) {
        Runnable task;
        lock.lock();
        try {
            waiting.clear();
            task = drained;
        } finally {
            lock.unlock();
        }
        // The handler has ended already: nobody else would tell the container.
        if (task != null) {
            task.run();
        } else {
            listener.onError(failure);
        }
    }
}
