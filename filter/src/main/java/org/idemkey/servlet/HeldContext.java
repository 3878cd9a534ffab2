// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;
import jakarta.servlet.ServletContext;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * One asynchronous cycle of a claimed request, from {@code startAsync} to its {@code dispatch} or {@code complete}. What
 * the handler asks for goes through here, so that its answer is recorded and sent before the container completes; what
 * the container tells comes through here, so that its listeners meet this context and not the container's.
 */
final class HeldContext implements AsyncContext, AsyncListener {

    private static final Logger LOG = System.getLogger(HeldContext.class.getName());

    private final Exchange exchange;
    private final AsyncContext container;
    private final List<Listener> listeners = new CopyOnWriteArrayList<>();
    private boolean original;
    private final AtomicBoolean containerCompleted = new AtomicBoolean();

    HeldContext(Exchange exchange, AsyncContext container) {
        this.exchange = exchange;
        this.container = container;
    }

    void setOriginal(boolean isOriginal) {
        original = isOriginal;
    }

    boolean isOf(AsyncContext context) {
        return container == context;
    }

    /** Hands over to the container, once: whoever comes first, the handler's completion or a time-out that met it. */
    void completeContainer() {
        if (containerCompleted.compareAndSet(false, true)) {
            container.complete();
        }
    }

    private record Listener(
            AsyncListener listener,
            @Nullable ServletRequest request,
            @Nullable ServletResponse response) {}

    // What the handler calls

    @Override
    public ServletRequest getRequest() {
        return container.getRequest();
    }

    @Override
    public ServletResponse getResponse() {
        return container.getResponse();
    }

    @Override
    public boolean hasOriginalRequestAndResponse() {
        return original;
    }

    @Override
    public void dispatch() {
        exchange.dispatch(this, container::dispatch);
    }

    @Override
    public void dispatch(String path) {
        exchange.dispatch(this, () -> container.dispatch(path));
    }

    @Override
    public void dispatch(ServletContext context, String path) {
        exchange.dispatch(this, () -> container.dispatch(context, path));
    }

    @Override
    public void complete() {
        exchange.complete(this);
    }

    /** Bound to the claim as the request's own thread is. */
    @Override
    public void start(Runnable run) {
        container.start(() -> exchange.bound(run));
    }

    @Override
    public void addListener(AsyncListener listener) {
        listeners.add(new Listener(listener, null, null));
    }

    @Override
    public void addListener(AsyncListener listener, ServletRequest request, ServletResponse response) {
        listeners.add(new Listener(listener, request, response));
    }

    @Override
    public <T extends AsyncListener> T createListener(Class<T> type) throws ServletException {
        return container.createListener(type);
    }

    @Override
    public void setTimeout(long timeout) {
        container.setTimeout(timeout);
    }

    @Override
    public long getTimeout() {
        return container.getTimeout();
    }

    // What the container calls

    @Override
    public void onTimeout(AsyncEvent event) {
        exchange.timedOut();
        tell(this, event, AsyncListener::onTimeout);
        exchange.unhandled(this, new TimeoutException("the asynchronous request has timed out"));
    }

    @Override
    public void onError(AsyncEvent event) {
        tell(this, event, AsyncListener::onError);
        Throwable cause = event.getThrowable();
        exchange.unhandled(this, cause == null ? new IOException("an asynchronous request failed") : cause);
    }

    @Override
    public void onComplete(AsyncEvent event) {
        exchange.completed();
        tell(this, event, AsyncListener::onComplete);
    }

    /** The next cycle begins: this one's listeners may join it (Servlet 6.1 §2.3.3.3). */
    @Override
    public void onStartAsync(AsyncEvent event) {
        tell(exchange.announced(event.getAsyncContext()), event, AsyncListener::onStartAsync);
    }

    private interface Call {
        void of(AsyncListener listener, AsyncEvent event) throws IOException;
    }

    /** As in a container one listener's failure keeps no other from being told. */
    private void tell(HeldContext context, AsyncEvent event, Call call) {
        for (Listener each : listeners) {
            AsyncEvent ours = new AsyncEvent(
                    context,
                    each.request() == null ? event.getSuppliedRequest() : each.request(),
                    each.response() == null ? event.getSuppliedResponse() : each.response(),
                    event.getThrowable());
            exchange.bound(() -> {
                try {
                    call.of(each.listener(), ours);
                } catch (IOException | RuntimeException e) {
                    LOG.log(Level.WARNING, "an asynchronous listener failed", e);
                }
            });
        }
    }
}
