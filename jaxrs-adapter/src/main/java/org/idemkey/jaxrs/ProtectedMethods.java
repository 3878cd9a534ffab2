// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs;

import java.lang.reflect.Method;
import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.idemkey.Idempotency;
import org.idemkey.IdempotencyBuilder;
import org.jspecify.annotations.Nullable;

/** The resource methods that are protected, and how. Thread-safe; each method is looked at once. */
final class ProtectedMethods {

    private static final Set<String> SAFE = Set.of("GET", "HEAD", "OPTIONS", "TRACE");

    private final Idempotency engine;
    private final Map<String, Idempotency> variants;
    private final Map<Key, Optional<ProtectedMethod>> known = new ConcurrentHashMap<>();

    ProtectedMethods(Idempotency engine, Map<String, Idempotency> variants) {
        this.engine = engine;
        this.variants = variants;
    }

    /**
     * How a method is protected; null if it isn't.
     *
     * @throws IllegalStateException if its annotation is wrong; the message names the method
     */
    @Nullable
    ProtectedMethod find(Class<?> type, Method method) {
        Key key = new Key(type, method);
        Optional<ProtectedMethod> found = known.get(key);
        if (found == null) {
            found = Optional.ofNullable(resolve(new ResourceMethod(type, method)));
            known.put(key, found);
        }
        return found.orElse(null);
    }

    /** Refuses an annotation on a method that no request ends at, such as a sub-resource locator. */
    void check(Class<?> type) {
        for (Method method : type.getMethods()) {
            ResourceMethod resource = new ResourceMethod(type, method);
            if (!method.isBridge() && resource.annotation() != null && resource.verb() == null) {
                throw wrong(
                        resource, "it has no verb (POST, say); a locator's resource is to be annotated itself", null);
            }
        }
    }

    private @Nullable ProtectedMethod resolve(ResourceMethod method) {
        String verb = method.verb();
        Idempotent annotation = method.annotation();
        boolean own = annotation != null;
        if (annotation == null) {
            annotation = method.typeAnnotation();
        }
        if (annotation == null || verb == null) {
            return null;
        }
        if (own && SAFE.contains(verb)) {
            throw wrong(method, verb + " is safe, so there is nothing to protect", null);
        }
        Idempotency base = annotation.variant().isEmpty() ? engine : variants.get(annotation.variant());
        if (base == null) {
            throw wrong(method, "the feature has no variant \"" + annotation.variant() + "\"", null);
        }
        if (!own && !base.protects(verb)) {
            return null;
        }
        if (base.isTransactional() && method.goesOnElsewhere() && !method.takesContext()) {
            throw wrong(
                    method,
                    "it may go on on another thread, where the joined data source doesn't find the request's"
                            + " transaction; let it take @HeaderParam(Idempotent.CONTEXT) IdempotencyContext, and its"
                            + " connection from there",
                    null);
        }
        return new ProtectedMethod(
                settings(method, annotation, base.toBuilder().methods(verb)),
                method.goesOnElsewhere(),
                method.isSuspended(),
                method.sendsEvents());
    }

    private static Idempotency settings(ResourceMethod method, Idempotent annotation, IdempotencyBuilder builder) {
        if (!annotation.required()) {
            builder.required(false);
        }
        if (!annotation.retention().isEmpty()) {
            builder.retention(duration(method, "retention", annotation.retention()));
        }
        if (!annotation.lease().isEmpty()) {
            builder.lease(duration(method, "lease", annotation.lease()));
        }
        if (annotation.maxRequestBytes() != -1) {
            builder.maxRequestBytes(annotation.maxRequestBytes());
        }
        if (annotation.maxResponseBytes() != -1) {
            builder.maxResponseBytes(annotation.maxResponseBytes());
        }
        if (annotation.bodyMatching().length > 1) {
            throw wrong(method, "bodyMatching is one value", null);
        } else if (annotation.bodyMatching().length == 1) {
            builder.bodyMatching(annotation.bodyMatching()[0]);
        }
        if (annotation.fingerprintHeaders().length > 0) {
            builder.fingerprintHeaders(annotation.fingerprintHeaders());
        }
        try {
            return builder.build();
        } catch (IllegalArgumentException e) {
            throw wrong(method, String.valueOf(e.getMessage()), e);
        }
    }

    private static Duration duration(ResourceMethod method, String name, String text) {
        try {
            return Duration.parse(text);
        } catch (DateTimeParseException e) {
            throw wrong(method, name + " \"" + text + "\" is no ISO 8601 duration such as PT24H", e);
        }
    }

    private static IllegalStateException wrong(ResourceMethod method, String why, @Nullable Throwable cause) {
        return new IllegalStateException("@Idempotent on " + method + ": " + why, cause);
    }

    private record Key(Class<?> type, Method method) {}
}
