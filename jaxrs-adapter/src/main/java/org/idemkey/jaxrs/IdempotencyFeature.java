// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs;

import static java.util.Objects.requireNonNull;

import jakarta.ws.rs.Priorities;
import jakarta.ws.rs.core.Feature;
import jakarta.ws.rs.core.FeatureContext;
import java.util.HashMap;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.idemkey.Idempotency;
import org.idemkey.IdempotencyBuilder;

/**
 * Protects the resource methods that are {@link Idempotent}. Register one with the application:
 *
 * <pre>{@code
 * register(IdempotencyFeature.of(engine))                   // Jersey's ResourceConfig
 * Set<Object> getSingletons() { return Set.of(IdempotencyFeature.of(engine)); }   // any Application
 * }</pre>
 *
 * <p>An application that has the servlet filter too gives both the same engine, so that they share scopes, table and
 * policies. Where both are active on one path, the filter has claimed already and the annotation has no effect.
 *
 * <p>Immutable and thread-safe.
 */
public final class IdempotencyFeature implements Feature {

    /**
     * The priority at which a key is claimed: after every filter that has none of its own ({@link Priorities#USER}),
     * since one of those may be what authenticates or authorises. Filters above it run only for requests that have
     * claimed.
     */
    public static final int PRIORITY = Priorities.USER + 1000;

    /** To Jersey a priority of 0 or less is none. */
    private static final int OUTERMOST = 1;

    private final Idempotency engine;
    private final Map<String, Idempotency> variants;

    private IdempotencyFeature(Idempotency engine, Map<String, Idempotency> variants) {
        this.engine = engine;
        this.variants = variants;
    }

    /** A feature by the settings of an engine; an {@link Idempotent} may change some of them for its methods. */
    public static IdempotencyFeature of(Idempotency engine) {
        return new IdempotencyFeature(requireNonNull(engine, "engine"), Map.of());
    }

    /**
     * The same feature with one variant of the engine more, for the methods that {@linkplain Idempotent#variant name}
     * it. It shares the engine's store.
     *
     * @param change gets the engine's settings, and answers the variant's
     * @throws IllegalArgumentException if a setting is out of its bounds, or the name is empty or taken
     */
    public IdempotencyFeature variant(String name, UnaryOperator<IdempotencyBuilder> change) {
        if (requireNonNull(name, "name").isEmpty() || variants.containsKey(name)) {
            throw new IllegalArgumentException("a variant needs a name of its own: \"" + name + "\"");
        }
        Map<String, Idempotency> more = new HashMap<>(variants);
        more.put(name, change.apply(engine.toBuilder()).build());
        return new IdempotencyFeature(engine, Map.copyOf(more));
    }

    @Override
    public boolean configure(FeatureContext context) {
        ProtectedMethods methods = new ProtectedMethods(engine, variants);
        OpenClaims claims = new OpenClaims();
        context.register(new StartCheck(methods));
        context.register(new ClaimFilter(methods, claims), PRIORITY);
        // Response filters run in descending order: the first one sees what the handler has said, the last one all.
        context.register(new HandlerAnswerFilter(claims), Integer.MAX_VALUE);
        context.register(new FinalAnswerFilter(), OUTERMOST);
        // The outermost interceptor: what it sees is what the client gets.
        context.register(new RecordingInterceptor(), OUTERMOST);
        context.register(new ContextParameter(claims));
        if (context.getClass().getName().startsWith("org.apache.cxf.")) {
            context.register(new UnmappedExceptions(claims), Integer.MAX_VALUE);
        }
        return true;
    }
}
