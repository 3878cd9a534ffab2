// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs;

import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.container.ContainerResponseContext;
import jakarta.ws.rs.container.ContainerResponseFilter;

/**
 * The first response filter: notes what the handler itself has said, before other filters add theirs, and makes a
 * replay's header fields whole.
 */
final class HandlerAnswerFilter implements ContainerResponseFilter {

    private final OpenClaims claims;

    HandlerAnswerFilter(OpenClaims claims) {
        this.claims = claims;
    }

    @Override
    public void filter(ContainerRequestContext request, ContainerResponseContext response) {
        Exchange exchange = Exchange.of(request);
        if (exchange == null) {
            OpenClaim left = claims.find(OpenClaims.token(request));
            if (left != null) {
                left.fail(new IllegalStateException("the container answered an exception before any response filter"));
            }
            return;
        }
        if (exchange.answer() != null && !exchange.wasClaimed()) {
            StoredAnswer.restoreLines(exchange.answer(), response.getHeaders());
        }
        exchange.handlerSaid(response);
    }
}
