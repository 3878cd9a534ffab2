// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.apache.catalina.Context;
import org.apache.catalina.LifecycleException;
import org.apache.catalina.Valve;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;
import org.apache.catalina.valves.ErrorReportValve;
import org.apache.coyote.http2.Http2Protocol;
import org.apache.tomcat.util.descriptor.web.ErrorPage;

/** Tomcat, whichever version is on the class path. */
final class TomcatServer implements ServletServer {

    /** Says at each stop that it can't look for leaks without --add-opens. */
    private static final Logger LEAKS = Logger.getLogger("org.apache.catalina.loader.WebappClassLoaderBase");

    private final Tomcat tomcat = new Tomcat();
    private final Path directory;

    TomcatServer() throws IOException {
        directory = Files.createTempDirectory("idemkey-tomcat");
    }

    @Override
    public void start(WebApp app) throws LifecycleException {
        LEAKS.setLevel(Level.OFF);
        tomcat.setBaseDir(directory.toString());
        tomcat.setSilent(true);
        Connector connector = new Connector();
        connector.setPort(0);
        connector.setProperty("address", "127.0.0.1");
        // Else Tomcat says "100 Continue" before it asks any filter.
        connector.setProperty("continueResponseTiming", "onRead");
        connector.addUpgradeProtocol(new Http2Protocol());
        if (app.executor() != null) {
            connector.getProtocolHandler().setExecutor(app.executor());
        }
        tomcat.setConnector(connector);
        Context context = tomcat.addContext("", directory.toString());
        context.addServletContainerInitializer((classes, servletContext) -> app.register(servletContext), Set.of());
        app.statusPages().forEach((status, location) -> {
            ErrorPage page = new ErrorPage();
            page.setErrorCode(status);
            page.setLocation(location);
            context.addErrorPage(page);
        });
        app.exceptionPages().forEach((exception, location) -> {
            ErrorPage page = new ErrorPage();
            page.setExceptionType(exception.getName());
            page.setLocation(location);
            context.addErrorPage(page);
        });
        tomcat.start();
        // Not what went wrong where: a replay of an exception has none.
        for (Valve valve : tomcat.getHost().getPipeline().getValves()) {
            if (valve instanceof ErrorReportValve report) {
                report.setShowReport(false);
            }
        }
        if (!context.getState().isAvailable()) {
            throw new LifecycleException("the web application has not started");
        }
    }

    @Override
    public int port() {
        return tomcat.getConnector().getLocalPort();
    }

    @Override
    public void close() {
        try {
            tomcat.stop();
            tomcat.destroy();
            List<Path> all;
            try (Stream<Path> files = Files.walk(directory)) {
                all = files.sorted(Comparator.reverseOrder()).toList();
            }
            for (Path file : all) {
                Files.delete(file);
            }
        } catch (LifecycleException e) {
            throw new IllegalStateException(e);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
