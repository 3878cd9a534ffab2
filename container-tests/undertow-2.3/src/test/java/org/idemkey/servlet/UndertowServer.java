// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import io.undertow.Undertow;
import io.undertow.UndertowOptions;
import io.undertow.servlet.Servlets;
import io.undertow.servlet.api.DeploymentInfo;
import io.undertow.servlet.api.DeploymentManager;
import io.undertow.servlet.api.ServletContainerInitializerInfo;
import io.undertow.servlet.util.ImmediateInstanceFactory;
import jakarta.servlet.ServletContainerInitializer;
import jakarta.servlet.ServletContext;
import jakarta.servlet.ServletException;
import java.io.File;
import java.net.InetSocketAddress;
import java.util.Set;

/** Undertow. */
final class UndertowServer implements ServletServer {

    private DeploymentManager deployment;
    private Undertow server;

    @Override
    public void start(WebApp app) throws ServletException {
        DeploymentInfo info = Servlets.deployment()
                .setClassLoader(UndertowServer.class.getClassLoader())
                .setContextPath("/")
                .setDeploymentName("test")
                // Else a filter that can't start is only found out by the first request.
                .setEagerFilterInit(true)
                .setTempDir(new File(System.getProperty("java.io.tmpdir")))
                .addServletContainerInitializer(new ServletContainerInitializerInfo(
                        Initializer.class, new ImmediateInstanceFactory<>(new Initializer(app)), Set.of()));
        if (app.executor() != null) {
            info.setExecutor(app.executor());
        }
        app.statusPages().forEach((status, location) -> info.addErrorPage(Servlets.errorPage(location, status)));
        app.exceptionPages()
                .forEach((exception, location) -> info.addErrorPage(Servlets.errorPage(location, exception)));
        deployment = Servlets.newContainer().addDeployment(info);
        deployment.deploy();
        server = Undertow.builder()
                .addHttpListener(0, "127.0.0.1")
                .setServerOption(UndertowOptions.ENABLE_HTTP2, true)
                // Else it answers a body of more than 2 MiB itself, with 500, and no filter ever sees it.
                .setServerOption(UndertowOptions.MAX_ENTITY_SIZE, -1L)
                .setHandler(deployment.start())
                .build();
        server.start();
    }

    private record Initializer(WebApp app) implements ServletContainerInitializer {

        @Override
        public void onStartup(Set<Class<?>> classes, ServletContext context) {
            app.register(context);
        }
    }

    @Override
    public Set<Quirk> quirks() {
        return Set.of(Quirk.SPACE_IN_TYPE);
    }

    @Override
    public int port() {
        return ((InetSocketAddress) server.getListenerInfo().get(0).getAddress()).getPort();
    }

    @Override
    public void close() {
        if (server != null) {
            server.stop();
        }
        if (deployment != null) {
            try {
                deployment.stop();
            } catch (ServletException e) {
                throw new IllegalStateException(e);
            }
            deployment.undeploy();
        }
    }
}
