// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.scenarios;

import jakarta.ws.rs.NameBinding;
import jakarta.ws.rs.Priorities;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.container.ContainerRequestFilter;
import jakarta.ws.rs.container.ContainerResponseContext;
import jakarta.ws.rs.container.ContainerResponseFilter;
import jakarta.ws.rs.core.Feature;
import jakarta.ws.rs.core.FeatureContext;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.ext.ExceptionMapper;
import jakarta.ws.rs.ext.WriterInterceptor;
import jakarta.ws.rs.ext.WriterInterceptorContext;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import java.util.zip.GZIPOutputStream;
import org.idemkey.jaxrs.IdempotencyFeature;
import org.jspecify.annotations.Nullable;

/** An application's own filters, interceptors and mappers, as they stand around the adapter. */
final class Filters {

    private Filters() {}

    /** Registers them all. */
    static final class Registration implements Feature {
        @Override
        public boolean configure(FeatureContext context) {
            context.register(new Fresh());
            context.register(new Callers(), Priorities.AUTHENTICATION);
            context.register(new Gate());
            context.register(new Late(), IdempotencyFeature.PRIORITY + 1000);
            context.register(new Zip(), Priorities.ENTITY_CODER);
            context.register(new EagerZip(), Priorities.ENTITY_CODER);
            context.register(new Envelope());
            context.register(new Mark());
            context.register(new Failing());
            context.register(new Mapper());
            return true;
        }
    }

    /** Stands for CORS and request-id filters: makes its fields afresh for each response. */
    static final class Fresh implements ContainerResponseFilter {
        @Override
        public void filter(ContainerRequestContext request, ContainerResponseContext response) {
            response.getHeaders().putSingle("X-Request-Id", UUID.randomUUID().toString());
            response.getHeaders().add("Vary", "Origin");
        }
    }

    static final class Callers implements ContainerRequestFilter {
        @Override
        public void filter(ContainerRequestContext request) {
            String name = request.getHeaderString("X-Caller");
            if (name != null) {
                request.setSecurityContext(new Caller(name));
            }
        }
    }

    /** An authorisation filter by somebody who gave it no priority. */
    static final class Gate implements ContainerRequestFilter {
        @Override
        public void filter(ContainerRequestContext request) {
            if ("closed".equals(request.getHeaderString("X-Gate"))) {
                request.abortWith(Response.status(401).entity("who are you?").build());
            }
        }
    }

    /** A filter that runs only for requests that have claimed. */
    static final class Late implements ContainerRequestFilter {
        @Override
        public void filter(ContainerRequestContext request) {
            String status = request.getHeaderString("X-Late");
            if (status != null) {
                request.abortWith(
                        Response.status(Integer.parseInt(status)).entity("late").build());
            }
        }
    }

    @NameBinding
    @Retention(RetentionPolicy.RUNTIME)
    @interface Zipped {}

    /** Encodes as the Jakarta REST specification shows it. */
    @Zipped
    static final class Zip implements WriterInterceptor {
        @Override
        public void aroundWriteTo(WriterInterceptorContext entity) throws IOException {
            OutputStream out = entity.getOutputStream();
            entity.getHeaders().putSingle(HttpHeaders.CONTENT_ENCODING, "gzip");
            entity.getHeaders().add("Vary", HttpHeaders.ACCEPT_ENCODING);
            GZIPOutputStream zipped = new GZIPOutputStream(out);
            entity.setOutputStream(zipped);
            try {
                entity.proceed();
            } finally {
                zipped.finish();
                entity.setOutputStream(out);
            }
        }
    }

    @NameBinding
    @Retention(RetentionPolicy.RUNTIME)
    @interface ZippedOnDemand {}

    /** Says in a response filter already what its interceptor will do: as Jersey's EncodingFilter and GZipEncoder. */
    @ZippedOnDemand
    static final class EagerZip implements ContainerResponseFilter, WriterInterceptor {
        @Override
        public void filter(ContainerRequestContext request, ContainerResponseContext response) {
            String accepted = request.getHeaderString(HttpHeaders.ACCEPT_ENCODING);
            if (response.hasEntity()
                    && "gzip".equals(accepted)
                    && !response.getHeaders().containsKey(HttpHeaders.CONTENT_ENCODING)) {
                response.getHeaders().putSingle(HttpHeaders.CONTENT_ENCODING, "gzip");
            }
        }

        @Override
        public void aroundWriteTo(WriterInterceptorContext entity) throws IOException {
            if ("gzip".equals(entity.getHeaders().getFirst(HttpHeaders.CONTENT_ENCODING))) {
                // Not finished here: whoever runs the chain closes it.
                entity.setOutputStream(new GZIPOutputStream(entity.getOutputStream()));
            }
            entity.proceed();
        }
    }

    @NameBinding
    @Retention(RetentionPolicy.RUNTIME)
    @interface Enveloped {}

    /** Changes entity, status and type. */
    @Enveloped
    static final class Envelope implements ContainerResponseFilter {
        @Override
        public void filter(ContainerRequestContext request, ContainerResponseContext response) {
            response.setEntity("<" + response.getEntity() + ">");
            response.getHeaders().putSingle(HttpHeaders.CONTENT_TYPE, "application/xml");
            response.setStatus(202);
        }
    }

    @NameBinding
    @Retention(RetentionPolicy.RUNTIME)
    @interface Marked {}

    /** Writes around the entity, and says so in a field. */
    @Marked
    static final class Mark implements WriterInterceptor {
        @Override
        public void aroundWriteTo(WriterInterceptorContext entity) throws IOException {
            entity.getOutputStream().write("mark:".getBytes(StandardCharsets.UTF_8));
            entity.getHeaders().add("X-Mark", "written");
            entity.proceed();
        }
    }

    /** A response filter that throws. */
    static final class Failing implements ContainerResponseFilter {
        @Override
        public void filter(ContainerRequestContext request, ContainerResponseContext response) {
            if (request.getHeaderString("X-Fail-Once") != null && request.getProperty("failed") == null) {
                request.setProperty("failed", true);
                throw new IllegalStateException("a response filter's own exception");
            }
        }
    }

    static final class Declined extends RuntimeException {
        private static final long serialVersionUID = 1L;
    }

    static final class Mapper implements ExceptionMapper<Declined> {
        @Override
        public @Nullable Response toResponse(Declined exception) {
            return Response.status(402).entity("declined").build();
        }
    }
}
