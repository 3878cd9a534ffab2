// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.scenarios;

import jakarta.servlet.Servlet;
import jakarta.servlet.ServletConfig;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A servlet that remembers why it didn't start, which Tomcat only logs, and knows how many requests are in it. */
final class StartedServlet implements Servlet {

    private final Servlet servlet;
    private final AtomicInteger inside = new AtomicInteger();
    private @Nullable Throwable failure;

    StartedServlet(Servlet servlet) {
        this.servlet = servlet;
    }

    @Nullable
    Throwable failure() {
        return failure;
    }

    boolean isEmpty() {
        return inside.get() == 0;
    }

    @Override
    public void init(ServletConfig config) throws ServletException {
        try {
            servlet.init(config);
        } catch (Throwable e) {
            failure = e;
            throw e;
        }
    }

    @Override
    public void service(ServletRequest request, ServletResponse response) throws ServletException, IOException {
        inside.incrementAndGet();
        try {
            servlet.service(request, response);
        } finally {
            inside.decrementAndGet();
        }
    }

    @Override
    public ServletConfig getServletConfig() {
        return servlet.getServletConfig();
    }

    @Override
    public String getServletInfo() {
        return servlet.getServletInfo();
    }

    @Override
    public void destroy() {
        servlet.destroy();
    }
}
