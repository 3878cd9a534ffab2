// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import jakarta.ws.rs.NotAllowedException;
import jakarta.ws.rs.NotFoundException;
import jakarta.ws.rs.WebApplicationException;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.ext.ExceptionMapper;
import java.sql.SQLException;
import org.glassfish.jersey.server.ResourceConfig;
import org.glassfish.jersey.server.ServerProperties;
import org.glassfish.jersey.servlet.ServletContainer;
import org.idemkey.Idempotency;
import org.idemkey.jaxrs.IdempotencyFeature;
import org.jspecify.annotations.Nullable;

/** The JAX-RS part of the API: refunds, on Jersey. */
final class RefundsServlet {

    private RefundsServlet() {}

    /**
     * A servlet to be mapped to {@code /refunds/*}.
     *
     * @param engine the one that the filter has too, so that a key is known to both; null to protect nothing
     */
    static ServletContainer of(@Nullable Idempotency engine, Refunds refunds) {
        ResourceConfig config = new ResourceConfig()
                .register(new RefundsResource(refunds))
                .register(new ProblemMapper())
                .register(new RuntimeMapper())
                .register(new DatabaseMapper())
                .property(ServerProperties.WADL_FEATURE_DISABLE, true)
                // As payments have it; RFC 9110 §10.2.2 allows it.
                .property(ServerProperties.LOCATION_HEADER_RELATIVE_URI_RESOLUTION_DISABLED, true);
        return new ServletContainer(engine == null ? config : config.register(IdempotencyFeature.of(engine)));
    }

    private static Response response(ApiProblem problem) {
        Response.ResponseBuilder response = Response.status(problem.status());
        problem.headers().forEach(response::header);
        return response.type("application/problem+json")
                .entity(Json.bytes(problem.document()))
                .build();
    }

    /** Public, and the others too, because Jersey calls them. */
    public static final class ProblemMapper implements ExceptionMapper<ApiProblem> {
        @Override
        public Response toResponse(ApiProblem problem) {
            return response(problem);
        }
    }

    /** What the runtime itself says no to, in this API's words. */
    public static final class RuntimeMapper implements ExceptionMapper<WebApplicationException> {
        @Override
        public Response toResponse(WebApplicationException exception) {
            if (exception instanceof NotFoundException) {
                return response(ApiProblem.notFound());
            } else if (exception instanceof NotAllowedException) {
                String allowed = exception.getResponse().getHeaderString("Allow");
                return response(ApiProblem.methodNotAllowed(allowed));
            }
            return exception.getResponse();
        }
    }

    /** A database that is away has done nothing; of any other failure nobody knows what it has done. */
    public static final class DatabaseMapper implements ExceptionMapper<SQLException> {

        private static final System.Logger LOG = System.getLogger(RefundsServlet.class.getName());

        @Override
        public Response toResponse(SQLException exception) {
            if (Database.isOutage(exception)) {
                return response(ApiProblem.databaseUnavailable());
            }
            LOG.log(System.Logger.Level.ERROR, "a refund failed", exception);
            return response(ApiProblem.ofContainer(500));
        }
    }
}
