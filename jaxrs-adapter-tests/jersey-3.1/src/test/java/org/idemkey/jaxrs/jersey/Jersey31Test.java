// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.jersey;

import jakarta.servlet.Filter;
import jakarta.ws.rs.core.Application;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.glassfish.jersey.server.ResourceConfig;
import org.glassfish.jersey.servlet.ServletContainer;
import org.idemkey.jaxrs.scenarios.Difference;
import org.idemkey.jaxrs.scenarios.JaxRsHttpContract;
import org.idemkey.jaxrs.scenarios.RestServer;
import org.idemkey.jaxrs.scenarios.ServletScenarios;
import org.idemkey.jaxrs.scenarios.SharedTransactionScenarios;
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

        /**
         * Jersey tells its container of an unmapped exception before the response filters. On the request's own thread
         * the servlet waits with its answer until these have run; on another one it doesn't.
         */
        @Override
        protected Set<Difference> differences() {
            return EnumSet.of(Difference.UNMAPPED_ELSEWHERE_ANSWERED_FIRST);
        }

        @Override
        protected RestServer start(Application application, List<Filter> filters) throws Exception {
            return serve(application, filters);
        }
    }

    @Nested
    class Transactions extends SharedTransactionScenarios {
        @Override
        protected RestServer start(Application application) throws Exception {
            return serve(application, List.of());
        }
    }

    private static RestServer serve(Application application, List<Filter> filters) throws Exception {
        return new TomcatServer(new ServletContainer(ResourceConfig.forApplication(application)), Map.of(), filters);
    }
}
