// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import jakarta.servlet.Filter;
import jakarta.servlet.Servlet;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.apache.catalina.Context;
import org.apache.catalina.LifecycleException;
import org.apache.catalina.Wrapper;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;
import org.apache.tomcat.util.descriptor.web.FilterDef;
import org.apache.tomcat.util.descriptor.web.FilterMap;
import org.jspecify.annotations.Nullable;

/** One Tomcat for all endpoints, so that a scenario and its twin share everything but the filter. */
final class Site implements AutoCloseable {

    /** Held, or the level would go with it: the container tells of each start, and warns of the pool's threads. */
    private static final Logger CONTAINER = Logger.getLogger("org.apache");

    private final Tomcat tomcat = new Tomcat();
    private final Path directory;

    Site(List<Endpoint> endpoints) throws IOException, LifecycleException {
        CONTAINER.setLevel(Level.SEVERE);
        directory = Files.createTempDirectory("idemkey-benchmark");
        tomcat.setBaseDir(directory.toString());
        Connector connector = new Connector();
        connector.setPort(0);
        // A closed loop of long-lived connections; the container would end each after 100 requests.
        connector.setProperty("maxKeepAliveRequests", "-1");
        tomcat.setConnector(connector);
        Context context = tomcat.addContext("", directory.toString());
        endpoints.forEach(endpoint -> endpoint.addTo(context));
        tomcat.start();
    }

    int port() {
        return tomcat.getConnector().getLocalPort();
    }

    @Override
    public void close() throws LifecycleException, IOException {
        tomcat.stop();
        tomcat.destroy();
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    /**
     * A servlet at a path of its own.
     *
     * @param filter null for a twin
     */
    record Endpoint(String path, Servlet servlet, @Nullable Filter filter) {

        private void addTo(Context context) {
            Wrapper wrapper = Tomcat.addServlet(context, path, servlet);
            wrapper.setLoadOnStartup(1);
            wrapper.addMapping(path);
            if (filter != null) {
                FilterDef definition = new FilterDef();
                definition.setFilterName(path);
                definition.setFilter(filter);
                context.addFilterDef(definition);
                FilterMap mapping = new FilterMap();
                mapping.setFilterName(path);
                mapping.addURLPattern(path);
                context.addFilterMap(mapping);
            }
        }
    }
}
