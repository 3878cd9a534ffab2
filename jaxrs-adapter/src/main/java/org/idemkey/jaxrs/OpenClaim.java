// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs;

import java.lang.ref.Cleaner.Cleanable;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.idemkey.IdempotencyContext;
import org.idemkey.Lease;
import org.idemkey.StoredResponse;
import org.jspecify.annotations.Nullable;

/**
 * A claim until it ends, which it does once: with an answer, with an exception, or because its request has been
 * forgotten. Knows nothing of the request, or it would keep alive what tells that it is forgotten. Thread-safe.
 */
final class OpenClaim {

    /** What the thread is bound to, where a request was lost between the claim and its answer. */
    private static final ThreadLocal<@Nullable OpenClaim> BOUND = new ThreadLocal<>();

    private final ProtectedMethod method;
    private final Lease lease;
    private final IdempotencyContext context;
    private final Map<String, OpenClaim> open;
    private final AtomicBoolean ended = new AtomicBoolean();
    private @Nullable Cleanable watch;
    private @Nullable Thread thread;
    private Lease.Binding binding = Lease.Binding.NONE;

    OpenClaim(ProtectedMethod method, Lease lease, Map<String, OpenClaim> open) {
        this.method = method;
        this.lease = lease;
        this.open = open;
        context = new IdempotencyContext(lease);
    }

    void watchedBy(Cleanable cleanable) {
        watch = cleanable;
    }

    String token() {
        return lease.token().toString();
    }

    IdempotencyContext context() {
        return context;
    }

    ProtectedMethod method() {
        return method;
    }

    boolean isOpen() {
        return !ended.get();
    }

    /** Ties the thread to the claim, if the handler runs on it to its end. */
    void bind() {
        if (method.elsewhere()) {
            return;
        }
        Lease.Binding made = lease.bind();
        if (made != Lease.Binding.NONE) {
            binding = made;
            thread = Thread.currentThread();
            BOUND.set(this);
        }
    }

    /** Frees the thread of a request that no response filter has ever heard the end of. */
    static void unbindForgotten() {
        OpenClaim forgotten = BOUND.get();
        if (forgotten != null) {
            forgotten.unbind();
        }
    }

    private void unbind() {
        if (thread == Thread.currentThread()) {
            thread = null;
            BOUND.remove();
            binding.close();
        }
    }

    /** Ends the claim with an answer; what is to be sent in its place, or null. */
    @Nullable
    StoredResponse finish(StoredResponse response) {
        if (!end()) {
            return null;
        }
        Optional<StoredResponse> instead = method.detached()
                ? method.engine().finishDetached(lease, response)
                : method.engine().finish(lease, response);
        return instead.orElse(null);
    }

    /** Ends the claim of a handler that threw. */
    void fail(Throwable failure) {
        if (end()) {
            method.engine().fail(lease, failure);
        }
    }

    private boolean end() {
        unbind();
        boolean first = ended.compareAndSet(false, true);
        if (first) {
            open.remove(token());
            if (watch != null) {
                watch.clean();
            }
        }
        return first;
    }

    /** Ends the claim of a request that is gone without having told how it ended. */
    void abandon() {
        if (ended.compareAndSet(false, true)) {
            open.remove(token());
            method.engine().fail(lease, new IllegalStateException("the runtime never told how the request ended"));
        }
    }
}
