// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.function.Supplier;
import org.idemkey.Idempotency;
import org.idemkey.IdempotencyContext;
import org.idemkey.Lease;
import org.idemkey.RequestBody;
import org.idemkey.StoredResponse;
import org.idemkey.servlet.FormParameters.BrokenFormException;
import org.jspecify.annotations.Nullable;

/**
 * One protected request, from its claim to its answer: whatever happens, the claim is ended, and the body removed.
 *
 * <table>
 * <caption>Who ends it</caption>
 * <tr><th>what happens</th><th>who ends it, and when</th></tr>
 * <tr><td>the handler returns, synchronous</td><td>its thread, on leaving the filter</td></tr>
 * <tr><td>the handler throws, synchronous</td><td>its thread; the exception goes on</td></tr>
 * <tr><td>{@code complete()}</td><td>who calls it; if the container's thread is still in the handler, that thread on
 *   leaving the filter. The container's own {@code complete()} follows</td></tr>
 * <tr><td>{@code dispatch()}</td><td>the thread of the ASYNC dispatch, on leaving the filter, unless it goes on
 *   asynchronously. Where the filter isn't mapped to ASYNC, nothing is held back from then on</td></tr>
 * <tr><td>a time-out or an error that no listener of the handler's answers</td><td>the container's thread, after them
 *   and before the container's error page</td></tr>
 * <tr><td>completion past this filter, in some way unforeseen</td><td>{@code onComplete}</td></tr>
 * </table>
 */
final class Exchange implements HeldResponse.Life {

    /** Marks a request that some filter of ours has claimed, for its dispatches and for other mappings. */
    static final String ATTRIBUTE = "org.idemkey.servlet.Exchange";

    private final IdempotencyFilter filter;
    private final ClaimEnd claim;
    private final RequestBody body;
    private final ClaimedRequest request;
    private final HeldResponse response;
    private final AsyncState async = new AsyncState();
    private volatile boolean timedOut;
    private volatile boolean beyondReach;
    private volatile boolean starting;

    Exchange(
            IdempotencyFilter filter,
            Idempotency engine,
            Lease lease,
            HttpServletRequest request,
            RequestBody body,
            HttpServletResponse response) {
        this.filter = filter;
        this.claim = new ClaimEnd(engine, lease);
        this.body = body;
        this.response = new HeldResponse(response, this, engine.maxResponseBytes(), filter.streamedTypes());
        this.request = new ClaimedRequest(request, body, this.response, this);
        request.setAttribute(ATTRIBUTE, this);
        request.setAttribute(IdempotencyContext.ATTRIBUTE, new IdempotencyContext(lease));
    }

    boolean isOf(IdempotencyFilter other) {
        return filter == other;
    }

    // The container's thread in the handler

    void run(FilterChain chain) throws IOException, ServletException {
        dispatched(request, response, chain);
    }

    /** The first dispatch, or an ASYNC one that has come through the filter, perhaps with wrappers of the handler's. */
    void dispatched(ServletRequest passedRequest, ServletResponse passedResponse, FilterChain chain)
            throws IOException, ServletException {
        if (!async.enter()) {
            chain.doFilter(passedRequest, passedResponse);
            return;
        }
        beyondReach = false;
        try {
            Lease.Binding binding = claim.bind();
            try {
                chain.doFilter(passedRequest, passedResponse);
            } finally {
                binding.close();
            }
            for (HandlerCallback next = async.nextOrLeave(); next != null; next = async.nextOrLeave()) {
                claim.bound(next::run);
            }
        } catch (Throwable e) {
            async.leave();
            if (e instanceof BrokenFormException
                    && async.cycle() == null
                    && !response.body().isStreaming()) {
                refuse(e);
                return;
            }
            leaveBy(e);
            throw e;
        }
        leave();
    }

    private void leave() throws IOException {
        HeldContext started = async.cycle();
        if (started != null) {
            if (async.takeDeferredCompletion()) {
                finish(started);
            }
        } else if (request.getRequest().isAsyncStarted()) {
            adopt(request.getRequest().getAsyncContext());
        } else {
            end();
        }
    }

    private void leaveBy(Throwable e) {
        HeldContext started = async.cycle();
        if (started == null) {
            fail(e);
        } else if (async.takeDeferredCompletion()) {
            fail(e);
            started.completeContainer();
        }
        // Else the container tells the listeners of the error, ours among them: the handler's may have an answer.
    }

    /** Somebody has unwrapped the request, so that only the end will be told to us: nothing can be held back. */
    private void adopt(AsyncContext container) throws IOException {
        container.addListener(nextCycle(container));
        response.body().stream();
    }

    // The end

    private void end() throws IOException {
        StoredResponse answer;
        try {
            response.end();
            answer = response.toStored();
        } catch (Throwable e) {
            fail(e);
            throw e;
        }
        try {
            StoredResponse instead = claim.finish(answer, timedOut);
            if (instead == null) {
                instead = response.body().replacement();
            }
            if (instead == null || response.body().isStreaming()) {
                response.send();
            } else {
                response.send(instead);
            }
        } finally {
            setOver();
        }
    }

    private void finish(HeldContext context) {
        try {
            end();
        } catch (IOException e) {
            // The client is gone. What it was to get is recorded, and the container finds out by itself.
        } finally {
            response.body().whenDrained(context::completeContainer);
        }
    }

    /** The handler asked for parameters and got none, because the form is broken: that is the client's error. */
    private void refuse(Throwable e) throws IOException {
        StoredResponse answer = StoredResponse.errorPage(HttpServletResponse.SC_BAD_REQUEST, List.of(), "");
        response.body().drop();
        try {
            claim.refuse(answer, e);
            response.send(answer);
        } finally {
            setOver();
        }
    }

    private void fail(Throwable e) {
        boolean keepsHeaders = timedOut || Container.keepsHeadersOfExceptions(request.getServletContext());
        response.body().drop();
        try {
            claim.fail(e, keepsHeaders ? response.recorded(HttpServletResponse.SC_INTERNAL_SERVER_ERROR) : List.of());
        } finally {
            setOver();
        }
    }

    private void setOver() {
        if (async.setOver()) {
            body.close();
        }
    }

    // What the response asks

    @Override
    public @Nullable StoredResponse record(int status) {
        return claim.stream(status);
    }

    @Override
    public boolean isIncluded() {
        return request.isIncluding();
    }

    @Override
    public boolean isBeyondReach() {
        return beyondReach;
    }

    @Override
    public void later(HandlerCallback callback) {
        HeldContext started = async.keep(callback);
        if (started != null) {
            started.start(callback::run);
        }
    }

    // What the handler asks of asynchronous processing

    @Nullable
    HeldContext asyncContext() {
        return async.cycle();
    }

    AsyncContext startAsync(Supplier<AsyncContext> container, boolean original) {
        claim.detach();
        HeldContext before = async.cycle();
        AsyncContext started;
        starting = true;
        try {
            started = container.get();
        } finally {
            starting = false;
        }
        // Most containers have told the listeners of the cycle before meanwhile; then it is there already.
        HeldContext now = async.cycle();
        if (now == null || now == before) {
            now = nextCycle(started);
        }
        now.setOriginal(original);
        started.addListener(now);
        return now;
    }

    private HeldContext nextCycle(AsyncContext container) {
        HeldContext next = new HeldContext(this, container);
        async.begin(next);
        beyondReach = false;
        return next;
    }

    /** The listeners of the cycle before are told of this one: in {@code startAsync}, or when the handler has returned. */
    HeldContext announced(AsyncContext container) {
        HeldContext now = async.cycle();
        return !starting && now != null && now.isOf(container) ? now : nextCycle(container);
    }

    void bound(Runnable part) {
        claim.bound(part);
    }

    void complete(HeldContext context) {
        switch (async.complete(context)) {
            case CALLER -> finish(context);
            case CONTAINER -> context.completeContainer();
            case LEAVING_THREAD, SOMEONE_ELSE -> {}
        }
    }

    void dispatch(HeldContext context, Runnable container) {
        if (async.dispatch(context)) {
            beyondReach = true;
            if (!filter.isMappedToAsync() && response.body().size() > 0) {
                try {
                    response.body().stream();
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        }
        container.run();
    }

    // What the container tells

    /** From now on an answer may come from someone else, while the handler is still at work. */
    void timedOut() {
        timedOut = true;
    }

    void unhandled(HeldContext context, Throwable cause) {
        switch (async.told(context)) {
            case CALLER -> {
                fail(cause);
                response.handBack();
            }
            case SOMEONE_ELSE -> response.body().whenDrained(context::completeContainer);
            case CONTAINER, LEAVING_THREAD -> {}
        }
    }

    /** Whatever way it took: a claim that is open still gets its end, though nothing can be sent any more. */
    void completed() {
        if (!async.isOver()) {
            try {
                StoredResponse answer = response.toStored();
                claim.finish(response.body().size() > 0 ? StoredResponse.tombstone(answer.status()) : answer, timedOut);
            } finally {
                setOver();
            }
        }
    }
}
