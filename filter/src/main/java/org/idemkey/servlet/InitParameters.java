// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.util.Map.entry;

import jakarta.servlet.FilterConfig;
import jakarta.servlet.ServletContext;
import jakarta.servlet.ServletException;
import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.Collections;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import org.idemkey.BodyMatching;
import org.idemkey.Idempotency;
import org.idemkey.IdempotencyBuilder;
import org.idemkey.IdempotencyListener;
import org.idemkey.IdempotencyStore;
import org.idemkey.ResponsePolicy;
import org.idemkey.UnknownOutcome;
import org.jspecify.annotations.Nullable;

/** What a filter's init parameters say. Every one of them has to mean something, to us or to the store's provider. */
final class InitParameters {

    private static final String STREAMED_TYPES = "streamedTypes";

    private static final Map<String, BiConsumer<IdempotencyBuilder, String>> SETTINGS = Map.ofEntries(
            entry("keyHeader", IdempotencyBuilder::keyHeader),
            entry("strictKeys", (engine, value) -> engine.strictKeys(bool(value))),
            entry("required", (engine, value) -> engine.required(bool(value))),
            entry("methods", (engine, value) -> engine.methods(list(value))),
            entry("lease", (engine, value) -> engine.lease(Duration.parse(value))),
            entry("retention", (engine, value) -> engine.retention(Duration.parse(value))),
            entry("maxRequestBytes", (engine, value) -> engine.maxRequestBytes(Long.parseLong(value))),
            entry("memoryBytes", (engine, value) -> engine.memoryBytes(Integer.parseInt(value))),
            entry("maxResponseBytes", (engine, value) -> engine.maxResponseBytes(Integer.parseInt(value))),
            entry("bodyMatching", (engine, value) -> engine.bodyMatching(BodyMatching.valueOf(value))),
            entry("fingerprintHeaders", (engine, value) -> engine.fingerprintHeaders(list(value))),
            entry("unknownOutcome", (engine, value) -> engine.unknownOutcome(unknownOutcome(value))),
            entry("responsePolicy", (engine, value) -> engine.responsePolicy(responsePolicy(value))),
            entry("conflictStatus", (engine, value) -> engine.conflictStatus(Integer.parseInt(value))),
            entry("mismatchStatus", (engine, value) -> engine.mismatchStatus(Integer.parseInt(value))),
            entry("retryAfter", (engine, value) -> engine.retryAfter(Duration.parse(value))),
            entry("replayHeader", IdempotencyBuilder::replayHeader),
            entry("keepCookies", (engine, value) -> engine.keepCookies(bool(value))),
            entry("failOpen", (engine, value) -> engine.failOpen(bool(value))),
            entry("shadow", (engine, value) -> engine.shadow(bool(value))));

    private final FilterConfig config;
    private final Set<String> meaningless;

    private InitParameters(FilterConfig config) {
        this.config = config;
        meaningless = new TreeSet<>(Collections.list(config.getInitParameterNames()));
    }

    /**
     * What was made of the parameters.
     *
     * @param streamedTypes the parameter of that name; null if it isn't set
     * @param ownStore the store to be closed with the filter; null if there is nothing to be closed
     */
    record Made(
            Idempotency engine,
            @Nullable Set<String> streamedTypes,
            @Nullable AutoCloseable ownStore) {}

    static Made read(FilterConfig config) throws ServletException {
        return new InitParameters(config).read();
    }

    private Made read() throws ServletException {
        ServletContext context = config.getServletContext();
        if (context.getAttribute(IdempotencyStore.class.getName()) instanceof IdempotencyStore store) {
            return new Made(engine(store), streamedTypes(), null);
        }
        IdempotencyStore store = ownStore(context);
        AutoCloseable closeable = store instanceof AutoCloseable own ? own : null;
        try {
            return new Made(engine(store), streamedTypes(), closeable);
        } catch (Throwable e) {
            close(closeable, e);
            throw e;
        }
    }

    private static void close(@Nullable AutoCloseable store, Throwable reason) {
        if (store != null) {
            try {
                store.close();
            } catch (Exception e) {
                reason.addSuppressed(e);
            }
        }
    }

    private IdempotencyStore ownStore(ServletContext context) throws ServletException {
        for (IdempotencyStore.Provider provider :
                ServiceLoader.load(IdempotencyStore.Provider.class, context.getClassLoader())) {
            IdempotencyStore store;
            try {
                store = provider.create(this::setting);
            } catch (IllegalArgumentException e) {
                throw failure(e.getMessage(), e);
            }
            if (store != null) {
                return store;
            }
        }
        throw failure(
                "there is no store: set the servlet context's attribute "
                        + IdempotencyStore.class.getName()
                        + ", or the init parameters of a store that is on the class path",
                null);
    }

    private @Nullable String setting(String name) {
        meaningless.remove(name);
        return config.getInitParameter(name);
    }

    private Idempotency engine(IdempotencyStore store) throws ServletException {
        IdempotencyBuilder builder = Idempotency.builder(store);
        if (config.getServletContext().getAttribute(IdempotencyListener.class.getName())
                instanceof IdempotencyListener listener) {
            builder.listener(listener);
        }
        for (Map.Entry<String, BiConsumer<IdempotencyBuilder, String>> setting : SETTINGS.entrySet()) {
            String value = setting(setting.getKey());
            if (value != null) {
                apply(setting.getKey(), value.strip(), setting.getValue(), builder);
            }
        }
        setting(STREAMED_TYPES);
        if (!meaningless.isEmpty()) {
            throw failure("init parameters without a meaning: " + String.join(", ", meaningless), null);
        }
        try {
            return builder.build();
        } catch (IllegalArgumentException e) {
            throw failure(e.getMessage(), e);
        }
    }

    private void apply(
            String name, String value, BiConsumer<IdempotencyBuilder, String> setting, IdempotencyBuilder builder)
            throws ServletException {
        try {
            setting.accept(builder, value);
        } catch (IllegalArgumentException | DateTimeParseException e) {
            throw failure("init parameter " + name + " can't be " + value + ": " + e.getMessage(), e);
        }
    }

    private @Nullable Set<String> streamedTypes() {
        String value = config.getInitParameter(STREAMED_TYPES);
        return value == null ? null : IdempotencyFilter.lowerCase(list(value));
    }

    private ServletException failure(@Nullable String message, @Nullable Throwable cause) {
        return new ServletException("filter " + config.getFilterName() + ": " + message, cause);
    }

    private static boolean bool(String value) {
        return switch (value) {
            case "true" -> true;
            case "false" -> false;
            default -> throw new IllegalArgumentException("it is true or false");
        };
    }

    private static String[] list(String value) {
        return value.isBlank() ? new String[0] : value.strip().split("[\\s,]+");
    }

    private static UnknownOutcome unknownOutcome(String value) {
        return switch (value) {
            case "reject" -> UnknownOutcome.reject();
            case "rerun" -> UnknownOutcome.rerun();
            default -> throw new IllegalArgumentException("it is reject or rerun");
        };
    }

    private static ResponsePolicy responsePolicy(String value) {
        return switch (value) {
            case "ambiguityKept" -> ResponsePolicy.ambiguityKept();
            case "failuresUndone" -> ResponsePolicy.failuresUndone();
            default -> throw new IllegalArgumentException("it is ambiguityKept or failuresUndone");
        };
    }
}
