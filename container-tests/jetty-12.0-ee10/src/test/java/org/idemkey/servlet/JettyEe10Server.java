// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import java.util.Set;
import org.eclipse.jetty.ee10.servlet.ErrorPageErrorHandler;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.http2.server.HTTP2CServerConnectionFactory;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/** Jetty with the servlets of Jakarta EE 10, whichever version is on the class path. */
final class JettyEe10Server implements ServletServer {

    private final Server server = new Server();
    private final ServerConnector connector;

    JettyEe10Server() {
        HttpConfiguration configuration = new HttpConfiguration();
        connector = new ServerConnector(
                server, new HttpConnectionFactory(configuration), new HTTP2CServerConnectionFactory(configuration));
        connector.setHost("127.0.0.1");
        server.addConnector(connector);
    }

    @Override
    public void start(WebApp app) throws Exception {
        ServletContextHandler context = new ServletContextHandler("/");
        context.addServletContainerInitializer((classes, servletContext) -> app.register(servletContext));
        ErrorPageErrorHandler pages = new ErrorPageErrorHandler();
        app.statusPages().forEach(pages::addErrorPage);
        app.exceptionPages().forEach(pages::addErrorPage);
        context.setErrorHandler(pages);
        if (app.executor() != null) {
            server.getBean(QueuedThreadPool.class).setVirtualThreadsExecutor(app.executor());
        }
        server.setHandler(context);
        server.start();
    }

    @Override
    public Set<Quirk> quirks() {
        return Set.of(Quirk.LENGTH_OF_NOT_MODIFIED);
    }

    @Override
    public int port() {
        return connector.getLocalPort();
    }

    @Override
    public void close() {
        try {
            server.stop();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
