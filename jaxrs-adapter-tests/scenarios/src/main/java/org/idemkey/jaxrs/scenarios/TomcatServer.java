// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.scenarios;

import jakarta.servlet.DispatcherType;
import jakarta.servlet.Filter;
import jakarta.servlet.FilterRegistration;
import jakarta.servlet.Servlet;
import jakarta.servlet.ServletContext;
import jakarta.servlet.ServletRegistration;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.apache.catalina.Context;
import org.apache.catalina.LifecycleException;
import org.apache.catalina.LifecycleState;
import org.apache.catalina.startup.Tomcat;
import org.awaitility.Awaitility;

/** A runtime that is a servlet: in a Tomcat, under a context path, behind any number of filters. */
public final class TomcatServer implements RestServer {

    private static final Logger LOGGER = Logger.getLogger("org.apache");

    private final Tomcat tomcat = new Tomcat();
    private final Path directory;
    private final StartedServlet started;

    /**
     * Starts a Tomcat with the servlet at {@code /app/api/}.
     *
     * @throws LifecycleException if the servlet doesn't start; its own exception is the cause
     */
    public TomcatServer(Servlet servlet, Map<String, String> parameters, List<Filter> filters)
            throws IOException, LifecycleException {
        LOGGER.setLevel(Level.OFF);
        directory = Files.createTempDirectory("idemkey-tomcat-");
        tomcat.setBaseDir(directory.toString());
        tomcat.setPort(0);
        tomcat.getConnector();
        Context context = tomcat.addContext("/app", directory.toString());
        started = new StartedServlet(servlet);
        context.addServletContainerInitializer((types, web) -> register(web, started, parameters, filters), Set.of());
        tomcat.start();
        if (started.failure() != null || context.getState() != LifecycleState.STARTED) {
            close();
            throw new LifecycleException("the application did not start", started.failure());
        }
    }

    private static void register(
            ServletContext web, Servlet servlet, Map<String, String> parameters, List<Filter> filters) {
        for (Filter filter : filters) {
            FilterRegistration.Dynamic registration =
                    web.addFilter(filter.getClass().getName(), filter);
            registration.setAsyncSupported(true);
            registration.addMappingForUrlPatterns(EnumSet.allOf(DispatcherType.class), true, "/*");
        }
        ServletRegistration.Dynamic registration = web.addServlet("rest", servlet);
        registration.setAsyncSupported(true);
        registration.setInitParameters(parameters);
        registration.setLoadOnStartup(1);
        registration.addMapping("/api/*");
    }

    @Override
    public URI base() {
        return URI.create("http://localhost:" + tomcat.getConnector().getLocalPort() + "/app/api/");
    }

    @Override
    public void awaitReturns() {
        Awaitility.await().atMost(Duration.ofMinutes(1)).until(started::isEmpty);
    }

    @Override
    public void close() {
        try {
            tomcat.stop();
            tomcat.destroy();
            try (Stream<Path> left = Files.walk(directory)) {
                for (Path path : left.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(path);
                }
            }
        } catch (LifecycleException | IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
