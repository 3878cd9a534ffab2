// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs;

import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.container.ContainerResponseContext;
import jakarta.ws.rs.container.ContainerResponseFilter;

/** The first response filter: notes what the handler itself has said, before other filters add theirs. */
final class HandlerAnswerFilter implements ContainerResponseFilter {

    @Override
    public void filter(ContainerRequestContext request, ContainerResponseContext response) {
        Exchange exchange = Exchange.of(request);
        if (exchange != null) {
            exchange.handlerSaid(response);
        }
    }
}
