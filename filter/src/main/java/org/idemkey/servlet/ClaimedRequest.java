// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.RequestDispatcher;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import java.util.concurrent.atomic.AtomicInteger;
import org.idemkey.RequestBody;
import org.jspecify.annotations.Nullable;

/** The request of a handler that runs under a claim: what it does asynchronously belongs to the claim too. */
final class ClaimedRequest extends BufferedRequest {

    private final Exchange exchange;
    private final HeldResponse response;
    private final AtomicInteger includes = new AtomicInteger();

    ClaimedRequest(HttpServletRequest request, RequestBody body, HeldResponse response, Exchange exchange) {
        super(request, body, response);
        this.exchange = exchange;
        this.response = response;
    }

    /** The wrappers stay in place: with the originals the handler would write past the claim (Servlet 6.1 §2.3.3.3). */
    @Override
    public AsyncContext startAsync() {
        return exchange.startAsync(() -> getRequest().startAsync(this, response), true);
    }

    @Override
    public AsyncContext startAsync(ServletRequest servletRequest, ServletResponse servletResponse) {
        boolean original = servletRequest == this && servletResponse == response;
        return exchange.startAsync(() -> getRequest().startAsync(servletRequest, servletResponse), original);
    }

    @Override
    public AsyncContext getAsyncContext() {
        AsyncContext context = exchange.asyncContext();
        return context == null ? super.getAsyncContext() : context;
    }

    @Override
    public @Nullable RequestDispatcher getRequestDispatcher(String path) {
        RequestDispatcher dispatcher = super.getRequestDispatcher(path);
        return dispatcher == null ? null : new HeldDispatcher(dispatcher, this);
    }

    boolean isResponse(ServletResponse other) {
        return other == response;
    }

    void setForwarding(boolean isForwarding) {
        response.setForwarding(isForwarding);
    }

    void includeBegins() {
        includes.incrementAndGet();
    }

    void includeEnds() {
        includes.decrementAndGet();
    }

    /** Whether an include is at work: one of this request's, or one of a dispatcher that didn't come from it. */
    boolean isIncluding() {
        return includes.get() > 0 || getDispatcherType() == DispatcherType.INCLUDE;
    }

    @Override
    void later(HandlerCallback callback) {
        exchange.later(callback);
    }
}
