// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpFilter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.URI;
import java.security.Principal;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.idemkey.Idempotency;
import org.idemkey.IdempotencyContext;
import org.idemkey.conformance.HttpContract;
import org.idemkey.conformance.HttpHandlers;
import org.idemkey.conformance.HttpTarget;

/** The scenarios of every technology, with servlets. */
class HttpContractTest extends HttpContract {

    @Override
    protected HttpTarget start(Idempotency engine, HttpHandlers handlers) throws Exception {
        ServletServer server = ServletServer.started(new WebApp()
                .filter("/*", new OuterFilter())
                .filter("/*", new AuthenticationFilter())
                .filter("/*", new IdempotencyFilter(engine))
                .servlet("/run/*", (request, response) -> answer(handlers, request, response)));
        return new HttpTarget() {
            @Override
            public URI uri() {
                return server.uri();
            }

            @Override
            public void close() {
                server.close();
            }
        };
    }

    private static void answer(HttpHandlers handlers, HttpServletRequest request, HttpServletResponse response)
            throws IOException, InterruptedException {
        HttpHandlers.Answer answer = handlers.handle(new ServletCall(request));
        response.setStatus(answer.status());
        for (HttpHandlers.Field field : answer.headers()) {
            if (field.added()) {
                response.addHeader(field.name(), field.value());
            } else {
                response.setHeader(field.name(), field.value());
            }
        }
        answer.body().writeTo(response.getOutputStream());
    }

    private record ServletCall(HttpServletRequest request) implements HttpHandlers.Call {

        @Override
        public String name() {
            return request.getPathInfo().split("/", -1)[1];
        }

        @Override
        public byte[] body() throws IOException {
            return request.getInputStream().readAllBytes();
        }

        @Override
        public Map<String, List<String>> parameters() {
            Map<String, List<String>> parameters = new TreeMap<>();
            request.getParameterMap().forEach((name, values) -> parameters.put(name, Arrays.asList(values)));
            return parameters;
        }

        @Override
        public Optional<IdempotencyContext> context() {
            return IdempotencyFilter.context(request);
        }
    }

    private static final class OuterFilter extends HttpFilter {

        private static final long serialVersionUID = 1L;

        private final AtomicInteger requests = new AtomicInteger();

        @Override
        protected void doFilter(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
                throws IOException, ServletException {
            response.setHeader("X-Outer", Integer.toString(requests.incrementAndGet()));
            response.setHeader("Vary", "Origin");
            chain.doFilter(request, response);
        }
    }

    private static final class AuthenticationFilter extends HttpFilter {

        private static final long serialVersionUID = 1L;

        @Override
        protected void doFilter(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
                throws IOException, ServletException {
            String caller = request.getHeader("X-Caller");
            if ("refused".equals(caller)) {
                response.sendError(HttpServletResponse.SC_UNAUTHORIZED);
            } else if (caller == null) {
                chain.doFilter(request, response);
            } else {
                chain.doFilter(
                        new HttpServletRequestWrapper(request) {
                            @Override
                            public Principal getUserPrincipal() {
                                return () -> caller;
                            }
                        },
                        response);
            }
        }
    }
}
