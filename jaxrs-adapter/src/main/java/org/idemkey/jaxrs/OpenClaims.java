// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs;

import jakarta.ws.rs.container.ContainerRequestContext;
import java.lang.ref.Cleaner;
import java.lang.ref.WeakReference;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.idemkey.IdempotencyContext;
import org.idemkey.Lease;
import org.jspecify.annotations.Nullable;

/**
 * The claims whose requests are being served, by the token that stands in the request's header
 * {@link Idempotent#CONTEXT}: a header is all that every runtime lets a parameter converter or an exception mapper see
 * of the request. Thread-safe.
 */
final class OpenClaims {

    private final Map<String, OpenClaim> open = new ConcurrentHashMap<>();
    private final Map<String, WeakReference<IdempotencyContext>> lent = new ConcurrentHashMap<>();
    private final Cleaner cleaner = Cleaner.create();

    /** A claim that is ended for sure: at the latest when nobody can end it any more, since its exchange is garbage. */
    Exchange open(ProtectedMethod method, Lease lease) {
        OpenClaim claim = new OpenClaim(method, lease, open);
        open.put(claim.token(), claim);
        Exchange exchange = Exchange.claimed(claim);
        claim.watchedBy(cleaner.register(exchange, claim::abandon));
        return exchange;
    }

    /**
     * Makes the context of a claim that isn't ours known, as long as its request lives.
     *
     * @return its token
     */
    String lend(IdempotencyContext context) {
        String token = context.lease().token().toString();
        if (lent.put(token, new WeakReference<>(context)) == null) {
            cleaner.register(context, () -> lent.remove(token));
        }
        return token;
    }

    @Nullable
    IdempotencyContext context(@Nullable String token) {
        OpenClaim claim = find(token);
        if (claim != null) {
            return claim.context();
        }
        WeakReference<IdempotencyContext> reference = token == null ? null : lent.get(token);
        return reference == null ? null : reference.get();
    }

    /** What stands in a request of the claim's token. The runtime holds it, and so it outlives the container's request. */
    static @Nullable String token(ContainerRequestContext request) {
        return request.getHeaderString(Idempotent.CONTEXT);
    }

    @Nullable
    OpenClaim find(@Nullable String token) {
        return token == null ? null : open.get(token);
    }
}
