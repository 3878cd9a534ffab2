// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.scenarios;

import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.HeaderParam;
import jakarta.ws.rs.PATCH;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.PUT;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Priorities;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.container.ContainerRequestFilter;
import jakarta.ws.rs.container.ContainerResponseContext;
import jakarta.ws.rs.container.ContainerResponseFilter;
import jakarta.ws.rs.core.Application;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.Feature;
import jakarta.ws.rs.core.FeatureContext;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.MultivaluedHashMap;
import jakarta.ws.rs.core.MultivaluedMap;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.idemkey.Idempotency;
import org.idemkey.IdempotencyContext;
import org.idemkey.conformance.HttpContract;
import org.idemkey.conformance.HttpHandlers;
import org.idemkey.conformance.HttpTarget;
import org.idemkey.jaxrs.IdempotencyFeature;
import org.idemkey.jaxrs.Idempotent;
import org.jspecify.annotations.Nullable;

/** The scenarios of every technology, with resources. */
public abstract class JaxRsHttpContract extends HttpContract {

    /**
     * Starts the runtime with an application.
     *
     * @throws Exception if it doesn't start
     */
    protected abstract RestServer start(Application application) throws Exception;

    @Override
    protected final HttpTarget start(Idempotency engine, HttpHandlers handlers) throws Exception {
        RestServer server = start(new HandlersApplication(engine, handlers));
        return new HttpTarget() {
            @Override
            public URI uri() {
                String base = server.base().toString();
                return URI.create(base.substring(0, base.length() - 1));
            }

            @Override
            public void close() {
                server.close();
            }
        };
    }

    private static final class HandlersApplication extends Application {

        private final Idempotency engine;
        private final HttpHandlers handlers;

        HandlersApplication(Idempotency engine, HttpHandlers handlers) {
            this.engine = engine;
            this.handlers = handlers;
        }

        // Deprecated, and yet the only way to hand instances over that each runtime knows.
        @SuppressWarnings("deprecation")
        @Override
        public Set<Object> getSingletons() {
            return Set.of(IdempotencyFeature.of(engine), new Layers(), new Run(handlers));
        }
    }

    /** The layers that the scenarios ask for around the adapter. */
    private static final class Layers implements Feature {
        @Override
        public boolean configure(FeatureContext context) {
            context.register(new Outer(), 2);
            context.register(new Authentication(), Priorities.AUTHENTICATION);
            return true;
        }
    }

    /** Public, as some runtimes demand. */
    public static final class Outer implements ContainerResponseFilter {

        private final AtomicInteger responses = new AtomicInteger();

        @Override
        public void filter(ContainerRequestContext request, ContainerResponseContext response) {
            response.getHeaders().putSingle("X-Outer", Integer.toString(responses.incrementAndGet()));
            response.getHeaders().addFirst("Vary", "Origin");
        }
    }

    /** Public, as some runtimes demand. */
    public static final class Authentication implements ContainerRequestFilter {
        @Override
        public void filter(ContainerRequestContext request) {
            String name = request.getHeaderString("X-Caller");
            if ("refused".equals(name)) {
                request.abortWith(Response.status(401).build());
            } else if (name != null) {
                request.setSecurityContext(new Caller(name));
            }
        }
    }

    /** The handlers. */
    @Path("run")
    @Idempotent
    public static final class Run {

        private final HttpHandlers handlers;

        Run(HttpHandlers handlers) {
            this.handlers = handlers;
        }

        /** Any handler. */
        @POST
        @Path("{name}{rest: (/.*)?}")
        public Response post(
                @PathParam("name") String name,
                @Context UriInfo uri,
                @HeaderParam(Idempotent.CONTEXT) @Nullable IdempotencyContext context,
                byte[] body)
                throws Exception {
            return run(name, body, uri.getQueryParameters(), context);
        }

        /** The handler that asks for parameters, with a form. */
        @POST
        @Path("parameters")
        @Consumes(MediaType.APPLICATION_FORM_URLENCODED)
        public Response form(
                @Context UriInfo uri,
                @HeaderParam(Idempotent.CONTEXT) @Nullable IdempotencyContext context,
                MultivaluedMap<String, String> form)
                throws Exception {
            MultivaluedMap<String, String> all = new MultivaluedHashMap<>(uri.getQueryParameters());
            form.forEach((field, values) -> values.forEach(value -> all.add(field, value)));
            return run("parameters", new byte[0], all, context);
        }

        /** Any handler. */
        @PATCH
        @Path("{name}{rest: (/.*)?}")
        public Response patch(
                @PathParam("name") String name,
                @Context UriInfo uri,
                @HeaderParam(Idempotent.CONTEXT) @Nullable IdempotencyContext context,
                byte[] body)
                throws Exception {
            return run(name, body, uri.getQueryParameters(), context);
        }

        /** Any handler. */
        @PUT
        @Path("{name}{rest: (/.*)?}")
        public Response put(
                @PathParam("name") String name,
                @Context UriInfo uri,
                @HeaderParam(Idempotent.CONTEXT) @Nullable IdempotencyContext context,
                byte[] body)
                throws Exception {
            return run(name, body, uri.getQueryParameters(), context);
        }

        /** Any handler. */
        @GET
        @Path("{name}{rest: (/.*)?}")
        public Response get(
                @PathParam("name") String name,
                @Context UriInfo uri,
                @HeaderParam(Idempotent.CONTEXT) @Nullable IdempotencyContext context)
                throws Exception {
            return run(name, new byte[0], uri.getQueryParameters(), context);
        }

        private Response run(
                String name,
                byte[] body,
                MultivaluedMap<String, String> parameters,
                @Nullable IdempotencyContext context)
                throws IOException, InterruptedException {
            HttpHandlers.Answer answer = handlers.handle(new ResourceCall(name, body, parameters, context));
            Response.ResponseBuilder builder = Response.status(answer.status());
            if (answer.body().length() > 0) {
                builder.entity(answer.body().toByteArray());
            }
            Response response = builder.build();
            // Past the builder: CXF's leaves out a line that says what another one does.
            for (HttpHandlers.Field field : answer.headers()) {
                response.getHeaders().add(field.name(), field.value());
            }
            return response;
        }
    }

    private static final class ResourceCall implements HttpHandlers.Call {

        private final String name;
        private final byte[] body;
        private final Map<String, List<String>> parameters = new TreeMap<>();
        private final @Nullable IdempotencyContext context;

        ResourceCall(
                String name,
                byte[] body,
                MultivaluedMap<String, String> parameters,
                @Nullable IdempotencyContext context) {
            this.name = name;
            this.body = body;
            this.context = context;
            parameters.forEach((field, values) -> this.parameters.put(field, new ArrayList<>(values)));
        }

        @Override
        public String name() {
            return name;
        }

        @Override
        public byte[] body() {
            return body;
        }

        @Override
        public Map<String, List<String>> parameters() {
            return parameters;
        }

        @Override
        public Optional<IdempotencyContext> context() {
            return Optional.ofNullable(context);
        }
    }
}
