// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.idemkey.BodyMatching;
import org.idemkey.IdempotencyContext;

/**
 * A resource method whose effect happens once per idempotency key, or a class whose methods' effects do.
 *
 * <p>On a method it protects that method, whatever its verb; a safe verb (GET, HEAD, OPTIONS) is refused at start. On a
 * class or an interface it protects those methods whose verb the engine protects (POST and PATCH, unless told
 * otherwise). A method's own annotation replaces its class's as a whole.
 *
 * <p>It is found on the method itself, on the method that it overrides or implements, on the class, its superclasses and
 * its interfaces, the nearest first; so a subclass that a container makes as a proxy has what its original has. A proxy
 * that implements interfaces only has what stands on these.
 *
 * <p>What isn't set here, the {@linkplain IdempotencyFeature#of engine} says. Whatever is wrong here fails at start, with
 * the method named.
 *
 * <p>A method with {@code @Suspended} may be answered by a time-out while it is still at work. No status can say then
 * that nothing was done, so under a lease each answer of such a method is kept, a 503 too.
 *
 * <p>With a store that shares its transaction, a handler must write in that transaction. The joined data source finds it
 * on the request's own thread. A method that goes on elsewhere ({@code @Suspended}, {@code CompletionStage},
 * {@code SseEventSink}) must therefore take its {@link #CONTEXT}, and its connection from there; one that doesn't is
 * refused at start.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE})
public @interface Idempotent {

    /**
     * The name of a header parameter that brings a resource method its {@link IdempotencyContext}:
     *
     * <pre>{@code
     * Response refund(Refund refund, @HeaderParam(Idempotent.CONTEXT) IdempotencyContext context)
     * }</pre>
     *
     * <p>It is null where the request runs unprotected. No client can send it.
     */
    String CONTEXT = "Idemkey-Context";

    /**
     * Whether a request without a key is refused; true by default, which an engine that requires none overrules. False
     * lets it run unprotected.
     */
    boolean required() default true;

    /** How long a key is known, as an ISO 8601 duration ({@code PT24H}); what the engine says by default. */
    String retention() default "";

    /** How long an owner may be silent, as an ISO 8601 duration ({@code PT30S}); what the engine says by default. */
    String lease() default "";

    /** The longest request body, in bytes; what the engine says by default. */
    long maxRequestBytes() default -1;

    /** The longest response body that is kept, in bytes; what the engine says by default. */
    int maxResponseBytes() default -1;

    /** When two bodies are the same: one value, or none for what the engine says. */
    BodyMatching[] bodyMatching() default {};

    /** Header fields that are part of what a request is; what the engine says by default. */
    String[] fingerprintHeaders() default {};

    /**
     * The name of a {@linkplain IdempotencyFeature#variant variant} of the engine, for everything else that an engine
     * can be told; the engine itself by default.
     */
    String variant() default "";
}
