// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.resteasy;

import jakarta.servlet.Filter;
import jakarta.servlet.ServletConfig;
import jakarta.servlet.ServletException;
import jakarta.ws.rs.core.Application;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.idemkey.jaxrs.scenarios.Difference;
import org.idemkey.jaxrs.scenarios.JaxRsHttpContract;
import org.idemkey.jaxrs.scenarios.RestServer;
import org.idemkey.jaxrs.scenarios.ServletScenarios;
import org.idemkey.jaxrs.scenarios.SharedTransactionScenarios;
import org.idemkey.jaxrs.scenarios.TomcatServer;
import org.jboss.resteasy.core.ResteasyDeploymentImpl;
import org.jboss.resteasy.plugins.server.servlet.HttpServlet30Dispatcher;
import org.jboss.resteasy.spi.Dispatcher;
import org.jboss.resteasy.spi.ResteasyDeployment;
import org.jboss.resteasy.spi.ResteasyProviderFactory;
import org.junit.jupiter.api.Nested;

/** RESTEasy 6.2 (Jakarta REST 3.1) as a servlet. */
class Resteasy62Test {

    @Nested
    class Http extends JaxRsHttpContract {
        @Override
        protected RestServer start(Application application) throws Exception {
            return serve(application, List.of());
        }
    }

    @Nested
    class Resources extends ServletScenarios {

        /** A form that a servlet filter has read is in the servlet's parameters only, which the API doesn't show. */
        @Override
        protected Set<Difference> differences() {
            return EnumSet.of(Difference.READ_FORM_IS_LOST);
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
        return new TomcatServer(new Servlet(application), Map.of("resteasy.servlet.mapping.prefix", "/api"), filters);
    }

    /** RESTEasy's servlet, with an application that is an object and not a class. */
    private static final class Servlet extends HttpServlet30Dispatcher {

        private static final long serialVersionUID = 1L;

        private final transient Application application;

        Servlet(Application application) {
            this.application = application;
        }

        @Override
        public void init(ServletConfig config) throws ServletException {
            ResteasyDeployment deployment = new ResteasyDeploymentImpl();
            deployment.setApplication(application);
            deployment.setAsyncJobServiceEnabled(false);
            deployment.start();
            config.getServletContext()
                    .setAttribute(ResteasyProviderFactory.class.getName(), deployment.getProviderFactory());
            config.getServletContext().setAttribute(Dispatcher.class.getName(), deployment.getDispatcher());
            config.getServletContext().setAttribute(ResteasyDeployment.class.getName(), deployment);
            super.init(config);
        }
    }
}
