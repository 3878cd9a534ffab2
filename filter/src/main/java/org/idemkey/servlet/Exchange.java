// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Optional;
import java.util.Set;
import org.idemkey.Idempotency;
import org.idemkey.IdempotencyContext;
import org.idemkey.Lease;
import org.idemkey.RequestBody;
import org.idemkey.StoredResponse;
import org.jspecify.annotations.Nullable;

/** One protected request, from its claim to its answer: whatever happens, the claim is ended once, and once only. */
final class Exchange implements HeldResponse.Tombstones {

    /** Marks a request that some filter of ours has claimed, for its dispatches and for other mappings. */
    static final String ATTRIBUTE = "org.idemkey.servlet.Exchange";

    private final Idempotency engine;
    private final Lease lease;
    private final BufferedRequest request;
    private final HeldResponse response;
    private boolean ended;

    Exchange(
            Idempotency engine,
            Lease lease,
            HttpServletRequest request,
            RequestBody body,
            HttpServletResponse response,
            Set<String> streamedTypes) {
        this.engine = engine;
        this.lease = lease;
        this.request = new BufferedRequest(request, body);
        this.response = new HeldResponse(response, this, engine.maxResponseBytes(), streamedTypes);
        request.setAttribute(ATTRIBUTE, this);
        request.setAttribute(IdempotencyContext.ATTRIBUTE, new IdempotencyContext(lease));
    }

    void run(FilterChain chain) throws IOException, ServletException {
        StoredResponse answer;
        try {
            handle(chain);
            response.end();
            answer = response.toStored();
        } catch (Throwable e) {
            // Whatever it is: it goes on to the container, whose error page is the answer.
            fail(e);
            throw e;
        }
        succeed(answer);
    }

    private void handle(FilterChain chain) throws IOException, ServletException {
        Lease.Binding binding = lease.bind();
        try {
            chain.doFilter(request, response);
        } finally {
            binding.close();
        }
    }

    private void succeed(StoredResponse answer) throws IOException {
        StoredResponse instead = response.replacement();
        if (!ended) {
            ended = true;
            instead = engine.finish(lease, response.isStreaming() ? StoredResponse.tombstone(answer.status()) : answer)
                    .orElse(null);
        }
        if (instead != null && !response.isStreaming()) {
            response.backToOuter();
            Answers.send((HttpServletResponse) response.getResponse(), instead);
        } else {
            response.send();
        }
    }

    private void fail(Throwable e) {
        response.discard();
        if (!ended) {
            ended = true;
            engine.fail(lease, e);
        }
    }

    @Override
    public @Nullable StoredResponse record(int status) {
        if (!engine.keepsStatus(status)) {
            // The key is freed when the handler has ended: never while it may still do something.
            return null;
        }
        ended = true;
        Optional<StoredResponse> instead = engine.finish(lease, StoredResponse.tombstone(status));
        return instead.orElse(null);
    }
}
