// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.jersey;

import jakarta.ws.rs.core.Application;
import java.net.URI;
import java.util.EnumSet;
import java.util.Set;
import org.glassfish.grizzly.http.server.HttpServer;
import org.glassfish.jersey.grizzly2.httpserver.GrizzlyHttpServerFactory;
import org.glassfish.jersey.server.ResourceConfig;
import org.idemkey.jaxrs.scenarios.Difference;
import org.idemkey.jaxrs.scenarios.JaxRsHttpContract;
import org.idemkey.jaxrs.scenarios.JaxRsScenarios;
import org.idemkey.jaxrs.scenarios.RestServer;
import org.junit.jupiter.api.Nested;

/** Jersey 3.1 (Jakarta REST 3.1) without servlets, in Grizzly. */
class Jersey31GrizzlyTest {

    @Nested
    class Http extends JaxRsHttpContract {

        /** Jersey tells its container of an unmapped exception before the response filters; Grizzly answers at once. */
        @Override
        protected boolean answersExceptionsFirst() {
            return true;
        }

        @Override
        protected RestServer start(Application application) {
            return serve(application);
        }
    }

    @Nested
    class Resources extends JaxRsScenarios {

        /** For the exceptions see above. Of a 205 Grizzly says neither how long it is nor that it is over. */
        @Override
        protected Set<Difference> differences() {
            return EnumSet.of(
                    Difference.UNMAPPED_ANSWERED_FIRST,
                    Difference.UNMAPPED_ELSEWHERE_ANSWERED_FIRST,
                    Difference.RESET_CONTENT_WITHOUT_LENGTH);
        }

        @Override
        protected RestServer start(Application application) {
            return serve(application);
        }
    }

    private static RestServer serve(Application application) {
        HttpServer server = GrizzlyHttpServerFactory.createHttpServer(
                URI.create("http://localhost:0/app/api/"), ResourceConfig.forApplication(application));
        return new RestServer() {
            @Override
            public URI base() {
                return URI.create(
                        "http://localhost:" + server.getListener("grizzly").getPort() + "/app/api/");
            }

            @Override
            public void close() {
                server.shutdownNow();
            }
        };
    }
}
