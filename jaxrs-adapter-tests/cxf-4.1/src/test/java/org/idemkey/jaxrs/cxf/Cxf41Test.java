// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.cxf;

import jakarta.servlet.Filter;
import jakarta.ws.rs.core.Application;
import java.util.List;
import java.util.Map;
import org.apache.cxf.jaxrs.servlet.CXFNonSpringJaxrsServlet;
import org.idemkey.jaxrs.scenarios.JaxRsHttpContract;
import org.idemkey.jaxrs.scenarios.RestServer;
import org.idemkey.jaxrs.scenarios.ServletScenarios;
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
        @Override
        protected boolean sendsEvents() {
            return false;
        }

        @Override
        protected RestServer start(Application application, List<Filter> filters) throws Exception {
            return serve(application, filters);
        }
    }

    private static RestServer serve(Application application, List<Filter> filters) throws Exception {
        return new TomcatServer(
                new CXFNonSpringJaxrsServlet(application),
                // Or CXF joins the lines of a field to one.
                Map.of("jaxrs.properties", "org.apache.cxf.http.add.headers=true"),
                filters);
    }
}
