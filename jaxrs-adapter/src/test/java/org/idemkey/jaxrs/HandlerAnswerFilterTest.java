// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs;

import static org.assertj.core.api.Assertions.assertThat;

import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.container.ContainerResponseContext;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.UUID;
import java.util.function.Supplier;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.Idempotency;
import org.idemkey.IdempotencyKey;
import org.idemkey.InMemoryIdempotencyStore;
import org.idemkey.Lease;
import org.idemkey.Scope;
import org.idemkey.Terms;
import org.junit.jupiter.api.Test;

/** Containers that have answered, and done with their request, before the response filters run. */
class HandlerAnswerFilterTest {

    private static final Terms TERMS = new Terms(Duration.ofHours(1), Duration.ofHours(24));

    private final InMemoryIdempotencyStore store = new InMemoryIdempotencyStore();
    private final ProtectedMethod method = new ProtectedMethod(Idempotency.of(store), true, true, false);
    private final OpenClaims claims = new OpenClaims();
    private final IdempotencyKey key =
            new IdempotencyKey(Scope.ANONYMOUS, UUID.randomUUID().toString());

    private Exchange claim(IdempotencyKey of) {
        Lease lease = ((Claim.Acquired) store.claim(of, Fingerprint.of("a"), TERMS)).lease();
        return claims.open(method, lease);
    }

    /** A request of which only this is left. */
    private static ContainerRequestContext request(Supplier<Object> property, String token) {
        return (ContainerRequestContext) Proxy.newProxyInstance(
                HandlerAnswerFilterTest.class.getClassLoader(),
                new Class<?>[] {ContainerRequestContext.class},
                (proxy, called, arguments) -> switch (called.getName()) {
                    case "getProperty" -> property.get();
                    case "getHeaderString" -> token;
                    default -> throw new UnsupportedOperationException(called.getName());
                });
    }

    /** One that may not be touched. */
    private static ContainerResponseContext response() {
        return (ContainerResponseContext) Proxy.newProxyInstance(
                HandlerAnswerFilterTest.class.getClassLoader(),
                new Class<?>[] {ContainerResponseContext.class},
                (proxy, called, arguments) -> {
                    throw new UnsupportedOperationException(called.getName());
                });
    }

    private void assertRecordedAsFailed() {
        assertThat(store.claim(key, Fingerprint.of("a"), TERMS))
                .isInstanceOfSatisfying(
                        Claim.Completed.class,
                        completed -> assertThat(completed.response().status()).isEqualTo(500));
    }

    @Test
    void aRequestThatWasTakenBackEndsItsClaim() {
        Exchange exchange = claim(key);
        String token = exchange.openClaim().token();

        new HandlerAnswerFilter(claims)
                .filter(
                        request(
                                () -> {
                                    throw new IllegalStateException("recycled");
                                },
                                token),
                        response());

        assertThat(exchange.openClaim()).isNull();
        assertRecordedAsFailed();
    }

    @Test
    void aRequestWhosePropertiesAreAnotherOnesEndsItsOwnClaim() {
        Exchange exchange = claim(key);
        Exchange next = claim(new IdempotencyKey(Scope.ANONYMOUS, "next"));

        new HandlerAnswerFilter(claims)
                .filter(request(() -> next, exchange.openClaim().token()), response());

        assertThat(next.openClaim()).isNotNull();
        assertRecordedAsFailed();
    }

    @Test
    void aRequestThatClaimedNothingIsLeftAlone() {
        Exchange exchange = claim(key);

        new HandlerAnswerFilter(claims).filter(request(() -> null, null), response());
        new HandlerAnswerFilter(claims)
                .filter(request(() -> null, UUID.randomUUID().toString()), response());

        assertThat(exchange.openClaim()).isNotNull();
    }
}
