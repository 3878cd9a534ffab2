// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.idemkey.Idempotency;
import org.idemkey.Lease;
import org.idemkey.StoredResponse;
import org.idemkey.StoredResponse.Header;
import org.jspecify.annotations.Nullable;

/** The end of a claim, which comes once, whoever brings it. Thread-safe. */
final class ClaimEnd {

    private final Idempotency engine;
    private final Lease lease;
    private final AtomicBoolean ended = new AtomicBoolean();

    ClaimEnd(Idempotency engine, Lease lease) {
        this.engine = engine;
        this.lease = lease;
    }

    /** Ties the calling thread to the claim while it works for the handler. */
    Lease.Binding bind() {
        return lease.bind();
    }

    /** The handler is about to go on without the thread that it is tied to. */
    void detach() {
        lease.detach();
    }

    /** Runs a part of the handler on a thread that isn't tied yet. */
    void bound(Runnable part) {
        Lease.Binding binding = bind();
        try {
            part.run();
        } finally {
            binding.close();
        }
    }

    /**
     * The handler's answer.
     *
     * @param detached whether it may stem from someone else, while the handler is still at work
     * @return what is to be sent in its place; null if it may be sent
     */
    @Nullable
    StoredResponse finish(StoredResponse answer, boolean detached) {
        if (!ended.compareAndSet(false, true)) {
            return null;
        }
        return (detached ? engine.finishDetached(lease, answer) : engine.finish(lease, answer)).orElse(null);
    }

    /** An answer of that status is about to leave before it is whole. */
    @Nullable
    StoredResponse stream(int status) {
        // A key that isn't kept is freed when the handler has ended: never while it may still do something.
        return engine.keepsStatus(status) ? finish(StoredResponse.tombstone(status), false) : null;
    }

    /** A handler that threw for the client's fault: kept as that answer, unless what it did is undone. */
    void refuse(StoredResponse answer, Throwable failure) {
        if (engine.isTransactional()) {
            fail(failure, List.of());
        } else {
            finish(answer, false);
        }
    }

    /** @param headers what the container keeps of the handler's headers */
    void fail(Throwable failure, List<Header> headers) {
        if (ended.compareAndSet(false, true)) {
            engine.fail(lease, failure, headers);
        }
    }
}
