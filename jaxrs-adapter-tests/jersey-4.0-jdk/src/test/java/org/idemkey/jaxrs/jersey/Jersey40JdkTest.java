// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.jersey;

import com.sun.net.httpserver.HttpServer;
import jakarta.ws.rs.core.Application;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.glassfish.jersey.jdkhttp.JdkHttpHandlerContainer;
import org.glassfish.jersey.server.ContainerFactory;
import org.glassfish.jersey.server.ResourceConfig;
import org.idemkey.jaxrs.scenarios.Difference;
import org.idemkey.jaxrs.scenarios.JaxRsHttpContract;
import org.idemkey.jaxrs.scenarios.JaxRsScenarios;
import org.idemkey.jaxrs.scenarios.RestServer;
import org.junit.jupiter.api.Nested;

/** Jersey 4.0 (Jakarta REST 4.0) without servlets, in the JDK's own server. */
class Jersey40JdkTest {

    @Nested
    class Http extends JaxRsHttpContract {

        /** Jersey tells its container of an unmapped exception before the response filters; this one answers at once. */
        @Override
        protected boolean answersExceptionsFirst() {
            return true;
        }

        @Override
        protected RestServer start(Application application) throws Exception {
            return serve(application);
        }
    }

    @Nested
    class Resources extends JaxRsScenarios {

        /** For the exceptions see above. Jersey's container for this server refuses to suspend a request. */
        @Override
        protected Set<Difference> differences() {
            return EnumSet.of(Difference.UNMAPPED_ANSWERED_FIRST, Difference.NOTHING_ASYNCHRONOUS);
        }

        @Override
        protected RestServer start(Application application) throws Exception {
            return serve(application);
        }
    }

    private static RestServer serve(Application application) throws Exception {
        // By default fewer connections may wait than the scenarios open at once.
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 100);
        ExecutorService threads = Executors.newCachedThreadPool();
        server.setExecutor(threads);
        server.createContext(
                "/app/api/",
                ContainerFactory.createContainer(
                        JdkHttpHandlerContainer.class, ResourceConfig.forApplication(application)));
        server.start();
        return new RestServer() {
            @Override
            public URI base() {
                return URI.create("http://localhost:" + server.getAddress().getPort() + "/app/api/");
            }

            @Override
            public void close() {
                server.stop(0);
                threads.shutdownNow();
            }
        };
    }
}
