// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Where a claimed request is: in its handler or not, and in which asynchronous cycle. The handler's threads and the
 * container's meet here, and nowhere else; nothing is called under the lock.
 *
 * <table>
 * <caption>States of a cycle</caption>
 * <tr><th>state</th><th>left by</th></tr>
 * <tr><td>OPEN, from {@code startAsync} on</td><td>{@code dispatch}: DISPATCHED; {@code complete}: COMPLETED; a time-out
 *   or an error that no listener answered: FAILED</td></tr>
 * <tr><td>DISPATCHED</td><td>the ASYNC dispatch, which ends the cycle</td></tr>
 * <tr><td>COMPLETED, FAILED</td><td>nothing: the request is over</td></tr>
 * </table>
 */
final class AsyncState {

    private enum State {
        OPEN,
        DISPATCHED,
        COMPLETED,
        FAILED
    }

    /** Whose turn it is after a call of the handler's or the container's. */
    enum Turn {
        /** The caller ends the request. */
        CALLER,
        /** The container's thread ends it, when it leaves the handler. */
        LEAVING_THREAD,
        /** Somebody else has ended it, or is about to. */
        SOMEONE_ELSE,
        /** It is none of ours: the container judges. */
        CONTAINER
    }

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition answered = lock.newCondition();
    private final Deque<HandlerCallback> callbacks = new ArrayDeque<>();
    private boolean inHandler;
    private @Nullable HeldContext cycle;
    private State state = State.OPEN;
    private boolean completionDeferred;
    private boolean over;

    /** The container's thread enters the handler; false if it is there already, or the request is over. */
    boolean enter() {
        lock.lock();
        try {
            if (inHandler || over) {
                return false;
            }
            inHandler = true;
            cycle = null;
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** What the handler wants to be called with before its thread leaves; null if it has left. */
    @Nullable
    HandlerCallback nextOrLeave() {
        lock.lock();
        try {
            HandlerCallback next = callbacks.poll();
            inHandler = next != null;
            return next;
        } finally {
            lock.unlock();
        }
    }

    /** The thread leaves by an exception: no callback is called any more. */
    void leave() {
        lock.lock();
        try {
            callbacks.clear();
            inHandler = false;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Keeps a callback for {@link #nextOrLeave()}.
     *
     * @return null if it is kept; else the cycle that has to start it, as the handler's thread has left
     * @throws IllegalStateException if the request isn't asynchronous
     */
    @Nullable
    HeldContext keep(HandlerCallback callback) {
        lock.lock();
        try {
            if (cycle == null) {
                throw new IllegalStateException("the request is not asynchronous");
            }
            if (inHandler) {
                callbacks.add(callback);
                return null;
            }
            return cycle;
        } finally {
            lock.unlock();
        }
    }

    /** The cycle that the request is in; null if it isn't asynchronous. */
    @Nullable
    HeldContext cycle() {
        lock.lock();
        try {
            return cycle;
        } finally {
            lock.unlock();
        }
    }

    void begin(HeldContext next) {
        lock.lock();
        try {
            cycle = next;
            state = State.OPEN;
        } finally {
            lock.unlock();
        }
    }

    /**
     * The handler dispatches.
     *
     * @return whether that is in order; else the container judges
     * @throws IllegalStateException if it has completed before, of which the container needn't know yet
     */
    boolean dispatch(HeldContext context) {
        lock.lock();
        try {
            if (over || context != cycle || state != State.OPEN) {
                refuseIfCompleted(context);
                return false;
            }
            state = State.DISPATCHED;
            return true;
        } finally {
            lock.unlock();
        }
    }

    /**
     * The handler completes.
     *
     * @throws IllegalStateException if it has done so before, of which the container needn't know yet
     */
    Turn complete(HeldContext context) {
        lock.lock();
        try {
            if (over || context != cycle || state != State.OPEN) {
                refuseIfCompleted(context);
                return Turn.CONTAINER;
            }
            state = State.COMPLETED;
            completionDeferred = inHandler;
            return inHandler ? Turn.LEAVING_THREAD : Turn.CALLER;
        } finally {
            lock.unlock();
        }
    }

    private void refuseIfCompleted(HeldContext context) {
        if (context == cycle && state == State.COMPLETED) {
            throw new IllegalStateException("complete() has been called");
        }
    }

    /** Whether the handler has completed while its thread was in there; told once. */
    boolean takeDeferredCompletion() {
        lock.lock();
        try {
            boolean deferred = completionDeferred;
            completionDeferred = false;
            return deferred;
        } finally {
            lock.unlock();
        }
    }

    /** The container has told all listeners of a time-out or an error, and will answer if none of them did. */
    Turn told(HeldContext context) {
        lock.lock();
        try {
            if (context == cycle && state == State.COMPLETED) {
                // On another thread, perhaps, which is about to send the answer. Where it has to wait for the client it
                // is bounded by the container's own time-outs.
                while (!over) {
                    answered.awaitUninterruptibly();
                }
                return Turn.SOMEONE_ELSE;
            }
            if (over || context != cycle || state != State.OPEN) {
                return Turn.CONTAINER;
            }
            state = State.FAILED;
            return Turn.CALLER;
        } finally {
            lock.unlock();
        }
    }

    /** The request is answered, or the container will answer; false if it was so already. */
    boolean setOver() {
        lock.lock();
        try {
            boolean first = !over;
            over = true;
            answered.signalAll();
            return first;
        } finally {
            lock.unlock();
        }
    }

    boolean isOver() {
        lock.lock();
        try {
            return over;
        } finally {
            lock.unlock();
        }
    }
}
