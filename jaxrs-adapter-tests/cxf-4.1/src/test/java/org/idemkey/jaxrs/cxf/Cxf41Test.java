// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.cxf;

import jakarta.servlet.Filter;
import jakarta.ws.rs.core.Application;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.cxf.jaxrs.servlet.CXFNonSpringJaxrsServlet;
import org.idemkey.jaxrs.scenarios.Difference;
import org.idemkey.jaxrs.scenarios.JaxRsHttpContract;
import org.idemkey.jaxrs.scenarios.RestServer;
import org.idemkey.jaxrs.scenarios.ServletScenarios;
import org.idemkey.jaxrs.scenarios.SharedTransactionScenarios;
import org.idemkey.jaxrs.scenarios.TomcatServer;
import org.junit.jupiter.api.Nested;

/** CXF 4.1 (Jakarta REST 3.1) as a servlet. */
class Cxf41Test {

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
         * Events are a module of their own (cxf-rt-rs-sse), which is not part of this build. A form that a servlet filter
         * has read is in the servlet's parameters only, which the API doesn't show.
         */
        @Override
        protected Set<Difference> differences() {
            return EnumSet.of(Difference.NO_EVENT_SINK, Difference.READ_FORM_IS_LOST);
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
        return new TomcatServer(
                new CXFNonSpringJaxrsServlet(application),
                // Or CXF joins the lines of a field to one.
                Map.of("jaxrs.properties", "org.apache.cxf.http.add-headers=true"),
                filters);
    }
}
