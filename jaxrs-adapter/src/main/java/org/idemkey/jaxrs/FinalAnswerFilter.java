// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs;

import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.container.ContainerResponseContext;
import jakarta.ws.rs.container.ContainerResponseFilter;
import org.idemkey.StoredResponse;

/**
 * The last response filter: records an answer without an entity, since no interceptor runs for one (Jakarta REST 3.1
 * §6.3), and sees to it that a replay is what was recorded.
 */
final class FinalAnswerFilter implements ContainerResponseFilter {

    @Override
    public void filter(ContainerRequestContext request, ContainerResponseContext response) {
        Exchange exchange = Exchange.of(request);
        if (exchange == null) {
            return;
        }
        exchange.filtersSaid(response);
        OpenClaim claim = exchange.openClaim();
        boolean streamed = claim != null && claim.method().events() && response.getStatus() < 300;
        if (streamed) {
            finish(exchange, response, StoredResponse.tombstone(response.getStatus()));
        } else if (claim != null && !response.hasEntity()) {
            finish(exchange, response, exchange.keepable());
        } else if (exchange.answer() != null) {
            StoredAnswer.restore(exchange.answer(), response);
        }
        if (!response.hasEntity() && !streamed) {
            exchange.close();
        }
    }

    private static void finish(Exchange exchange, ContainerResponseContext response, StoredResponse said) {
        if (!exchange.finish(said) && exchange.answer() != null) {
            StoredAnswer.replaceHead(exchange.answer(), response);
            StoredAnswer.restore(exchange.answer(), response);
        }
    }
}
