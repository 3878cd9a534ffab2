// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpFilter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.security.Principal;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Lets merchants in, by their bearer tokens (RFC 6750), and nobody else. It stands before the idempotency filter, so
 * that a merchant is a caller there, and a stranger's request leaves no trace.
 */
final class MerchantFilter extends HttpFilter {

    private static final long serialVersionUID = 1L;

    private static final String SCHEME = "Bearer ";

    /** For trying only: a real service keeps hashes of random tokens. */
    private static final Map<String, String> MERCHANTS = Map.of("sk_demo_alice", "alice", "sk_demo_bob", "bob");

    @Override
    protected void doFilter(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws IOException, ServletException {
        String authorization = request.getHeader("Authorization");
        if (authorization == null || !authorization.regionMatches(true, 0, SCHEME, 0, SCHEME.length())) {
            ApiProblem.unauthorized("This API wants a bearer token.", "Bearer realm=\"payments\"")
                    .send(response);
            return;
        }
        String merchant = MERCHANTS.get(authorization.substring(SCHEME.length()).strip());
        if (merchant == null) {
            ApiProblem.unauthorized(
                            "The bearer token is not valid.", "Bearer realm=\"payments\", error=\"invalid_token\"")
                    .send(response);
            return;
        }
        chain.doFilter(new MerchantRequest(request, merchant), response);
    }

    /** Bears the merchant's name, as a request does that the container has authenticated. */
    private static final class MerchantRequest extends HttpServletRequestWrapper {

        private final Principal merchant;

        MerchantRequest(HttpServletRequest request, String merchant) {
            super(request);
            this.merchant = new Merchant(merchant);
        }

        @Override
        public String getRemoteUser() {
            return merchant.getName();
        }

        @Override
        public Principal getUserPrincipal() {
            return merchant;
        }

        @Override
        public @Nullable String getAuthType() {
            return "Bearer";
        }
    }

    private record Merchant(String name) implements Principal {
        @Override
        public String getName() {
            return name;
        }
    }
}
