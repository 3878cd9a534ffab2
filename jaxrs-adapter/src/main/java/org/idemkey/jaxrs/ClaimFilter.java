// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs;

import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.container.ContainerRequestFilter;
import jakarta.ws.rs.container.ResourceInfo;
import jakarta.ws.rs.core.Context;
import java.io.IOException;
import java.lang.reflect.Method;
import org.idemkey.Decision;
import org.idemkey.IdempotencyContext;
import org.idemkey.Lease;
import org.idemkey.RequestBody;
import org.jspecify.annotations.Nullable;

/** Claims the key of a request to a protected method, or answers in the method's place. */
final class ClaimFilter implements ContainerRequestFilter {

    private final ProtectedMethods methods;
    private final OpenClaims claims;

    /** Injected by the runtime: a proxy of the current request's. */
    @Context
    private @Nullable ResourceInfo resource;

    ClaimFilter(ProtectedMethods methods, OpenClaims claims) {
        this.methods = methods;
        this.claims = claims;
    }

    @Override
    public void filter(ContainerRequestContext request) throws IOException {
        OpenClaim.unbindForgotten();
        ProtectedMethod method = protection();
        // Registered twice, it would claim twice.
        if (method == null || Exchange.of(request) != null) {
            return;
        }
        if (request.getProperty(IdempotencyContext.ATTRIBUTE) instanceof IdempotencyContext claimed) {
            // The servlet filter has claimed before us, and records what comes out of it all.
            request.getHeaders().putSingle(Idempotent.CONTEXT, claims.lend(claimed));
            return;
        }
        request.getHeaders().remove(Idempotent.CONTEXT);
        IncomingRequest incoming = new IncomingRequest(request);
        Decision decision;
        try {
            decision = method.engine().decide(incoming);
        } catch (Throwable e) {
            close(incoming.takenBody());
            throw e;
        }
        if (decision instanceof Decision.Proceed proceed) {
            proceed(request, method, proceed.lease(), incoming.takenBody());
        } else if (decision instanceof Decision.Respond respond) {
            close(incoming.takenBody());
            Exchange.answered(respond.response()).attachTo(request);
            request.abortWith(StoredAnswer.toResponse(respond.response()));
        } else {
            giveBack(request, incoming.takenBody());
            Exchange.unprotected(incoming.takenBody()).attachTo(request);
        }
    }

    private @Nullable ProtectedMethod protection() {
        ResourceInfo info = resource;
        if (info == null) {
            throw new IllegalStateException("the runtime has not injected ResourceInfo");
        }
        Class<?> type = info.getResourceClass();
        Method method = info.getResourceMethod();
        return type == null || method == null ? null : methods.find(type, method);
    }

    private void proceed(
            ContainerRequestContext request, ProtectedMethod method, Lease lease, @Nullable RequestBody body) {
        Exchange exchange = claims.open(method, lease);
        exchange.owns(body);
        OpenClaim claim = exchange.openClaim();
        if (claim == null) {
            throw new IllegalStateException("a claim ended before its handler began");
        }
        try {
            exchange.attachTo(request);
            request.setProperty(IdempotencyContext.ATTRIBUTE, claim.context());
            request.getHeaders().putSingle(Idempotent.CONTEXT, claim.token());
            giveBack(request, body);
            claim.bind();
        } catch (Throwable e) {
            claim.fail(e);
            close(body);
            throw e;
        }
    }

    private static void giveBack(ContainerRequestContext request, @Nullable RequestBody body) {
        // An empty stream is left as it is: behind it a container may have parameters that it has read before.
        if (body != null && body.length() > 0) {
            request.setEntityStream(body.openStream());
        }
    }

    private static void close(@Nullable RequestBody body) {
        if (body != null) {
            body.close();
        }
    }
}
