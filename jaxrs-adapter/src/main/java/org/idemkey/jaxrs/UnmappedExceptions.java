// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs;

import jakarta.ws.rs.WebApplicationException;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.ext.ExceptionMapper;
import org.jspecify.annotations.Nullable;

/**
 * Hears of exceptions that nobody maps, on Apache CXF. That runtime has no default mapper, though Jakarta REST 3.1 §4.4
 * asks for one: it hands such an exception to the container, past all response filters. A mapper that answers null
 * changes nothing about that there, but can end the claim. (Elsewhere null is a 204, so it is registered nowhere else.)
 */
final class UnmappedExceptions implements ExceptionMapper<Throwable> {

    private final OpenClaims claims;

    /** Injected by the runtime: a proxy of the current request's. */
    @Context
    private @Nullable HttpHeaders headers;

    UnmappedExceptions(OpenClaims claims) {
        this.claims = claims;
    }

    @Override
    public @Nullable Response toResponse(Throwable exception) {
        // CXF prefers this mapper to its own for web application exceptions, and looks for one in the cause by itself.
        if (exception instanceof WebApplicationException answering) {
            return answering.getResponse();
        } else if (exception.getCause() instanceof WebApplicationException) {
            return null;
        }
        OpenClaim claim = headers == null ? null : claims.find(headers.getHeaderString(Idempotent.CONTEXT));
        if (claim != null) {
            claim.fail(exception);
        }
        return null;
    }
}
