// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.jersey;

import jakarta.servlet.Filter;
import jakarta.ws.rs.core.Application;
import java.util.List;
import java.util.Map;
import org.glassfish.jersey.server.ResourceConfig;
import org.glassfish.jersey.servlet.ServletContainer;
import org.idemkey.jaxrs.scenarios.JaxRsHttpContract;
import org.idemkey.jaxrs.scenarios.RestServer;
import org.idemkey.jaxrs.scenarios.ServletScenarios;
import org.idemkey.jaxrs.scenarios.TomcatServer;
import org.junit.jupiter.api.Nested;

/** Jersey 3.1 (Jakarta REST 3.1) as a servlet. */
class Jersey31Test {

    @Nested
    class Http extends JaxRsHttpContract {
        @Override
        protected RestServer start(Application application) throws Exception {
            return serve(application, List.of());
        }
    }

    @Nested
    class Resources extends ServletScenarios {
        @Override
        protected RestServer start(Application application, List<Filter> filters) throws Exception {
            return serve(application, filters);
        }
    }

    private static RestServer serve(Application application, List<Filter> filters) throws Exception {
        return new TomcatServer(new ServletContainer(ResourceConfig.forApplication(application)), Map.of(), filters);
    }
}
