// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs;

import jakarta.ws.rs.HeaderParam;
import jakarta.ws.rs.HttpMethod;
import jakarta.ws.rs.container.Suspended;
import jakarta.ws.rs.sse.SseEventSink;
import java.lang.annotation.Annotation;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.function.Predicate;
import org.idemkey.IdempotencyContext;
import org.jspecify.annotations.Nullable;

/**
 * A resource method with all that it inherits. Runtimes differ in what they hand over: the class or its proxy, the
 * method that runs or the one that is annotated. Here annotations are looked for wherever they may stand: on the method,
 * then on those that it overrides or implements, superclasses before interfaces and the nearest first.
 */
final class ResourceMethod {

    private final Class<?> type;
    private final Method method;
    private final List<Class<?>> types;
    private final Map<Type, Type> arguments;
    private final List<Method> declarations = new ArrayList<>();

    ResourceMethod(Class<?> type, Method method) {
        this.type = type;
        this.method = method;
        types = lineage(type, method.getDeclaringClass());
        arguments = arguments(types);
        for (Class<?> each : types) {
            for (Method candidate : each.getDeclaredMethods()) {
                if (candidate.equals(method) || isOverridden(candidate)) {
                    declarations.add(candidate);
                }
            }
        }
    }

    private static List<Class<?>> lineage(Class<?> type, Class<?> declaring) {
        Set<Class<?>> lineage = new LinkedHashSet<>();
        for (Class<?> start : List.of(type, declaring)) {
            for (Class<?> each = start; each != null && each != Object.class; each = each.getSuperclass()) {
                lineage.add(each);
            }
        }
        for (Class<?> each : List.copyOf(lineage)) {
            addInterfaces(each, lineage);
        }
        return List.copyOf(lineage);
    }

    private static void addInterfaces(Class<?> type, Set<Class<?>> lineage) {
        for (Class<?> each : type.getInterfaces()) {
            lineage.add(each);
            addInterfaces(each, lineage);
        }
    }

    private boolean isOverridden(Method candidate) {
        if (candidate.isBridge()
                || Modifier.isStatic(candidate.getModifiers())
                || Modifier.isPrivate(candidate.getModifiers())
                || !candidate.getName().equals(method.getName())
                || candidate.getParameterCount() != method.getParameterCount()) {
            return false;
        }
        Class<?>[] erased = candidate.getParameterTypes();
        Type[] generic = candidate.getGenericParameterTypes();
        Class<?>[] actual = method.getParameterTypes();
        for (int i = 0; i < actual.length; i++) {
            if (erased[i] != actual[i] && bound(generic[i]) != actual[i]) {
                return false;
            }
        }
        return true;
    }

    /** What a type variable stands for in this class: {@code String} for the {@code T} of a {@code Contract<String>}. */
    private @Nullable Type bound(Type type) {
        Type bound = type;
        while (bound instanceof TypeVariable<?>) {
            bound = arguments.get(bound);
        }
        return bound instanceof ParameterizedType parameterized ? parameterized.getRawType() : bound;
    }

    private static Map<Type, Type> arguments(List<Class<?>> types) {
        Map<Type, Type> arguments = new HashMap<>();
        for (Class<?> each : types) {
            List<Type> parents = new ArrayList<>(List.of(each.getGenericInterfaces()));
            if (each.getGenericSuperclass() != null) {
                parents.add(each.getGenericSuperclass());
            }
            for (Type parent : parents) {
                if (parent instanceof ParameterizedType parameterized) {
                    TypeVariable<?>[] variables = ((Class<?>) parameterized.getRawType()).getTypeParameters();
                    for (int i = 0; i < variables.length; i++) {
                        arguments.put(variables[i], parameterized.getActualTypeArguments()[i]);
                    }
                }
            }
        }
        return arguments;
    }

    /** The method's own annotation, or the one that it inherits; null if there is none. */
    @Nullable
    Idempotent annotation() {
        for (Method declaration : declarations) {
            Idempotent found = declaration.getAnnotation(Idempotent.class);
            if (found != null) {
                return found;
            }
        }
        return null;
    }

    /** The annotation of the class, or the one that it inherits; null if there is none. */
    @Nullable
    Idempotent typeAnnotation() {
        for (Class<?> each : types) {
            Idempotent found = each.getDeclaredAnnotation(Idempotent.class);
            if (found != null) {
                return found;
            }
        }
        return null;
    }

    /** What the request line says; null for a method that no request ends at. */
    @Nullable
    String verb() {
        for (Method declaration : declarations) {
            for (Annotation annotation : declaration.getAnnotations()) {
                HttpMethod verb = annotation.annotationType().getAnnotation(HttpMethod.class);
                if (verb != null) {
                    return verb.value();
                }
            }
        }
        return null;
    }

    /** Whether an {@code AsyncResponse} answers, which may time out. */
    boolean isSuspended() {
        return hasParameter(parameter -> parameter.isAnnotationPresent(Suspended.class));
    }

    boolean sendsEvents() {
        return hasParameter(parameter -> parameter.getType() == SseEventSink.class);
    }

    boolean takesContext() {
        return hasParameter(parameter -> parameter.getType() == IdempotencyContext.class
                && parameter.isAnnotationPresent(HeaderParam.class)
                && parameter.getAnnotation(HeaderParam.class).value().equals(Idempotent.CONTEXT));
    }

    /** Whether it may go on on another thread, as far as its signature tells. */
    boolean goesOnElsewhere() {
        Class<?> answer = method.getReturnType();
        return isSuspended()
                || sendsEvents()
                || CompletionStage.class.isAssignableFrom(answer)
                || Flow.Publisher.class.isAssignableFrom(answer);
    }

    private boolean hasParameter(Predicate<Parameter> wanted) {
        for (Method declaration : declarations) {
            for (Parameter parameter : declaration.getParameters()) {
                if (wanted.test(parameter)) {
                    return true;
                }
            }
        }
        return false;
    }

    @Override
    public String toString() {
        return type.getName() + "." + method.getName();
    }
}
