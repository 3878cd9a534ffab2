// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.util.Objects.requireNonNull;

import jakarta.servlet.DispatcherType;
import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.FilterConfig;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import org.idemkey.Decision;
import org.idemkey.Idempotency;
import org.idemkey.IdempotencyContext;
import org.idemkey.RequestBody;
import org.jspecify.annotations.Nullable;

/**
 * Protects what lies behind it: a request with a key runs once, and a repetition gets the first answer again. Made in
 * code from an {@link Idempotency} engine, or by the container from the init parameters of a {@code web.xml}.
 *
 * <p>Put it behind authentication, so that a refused caller leaves no record and each caller has keys of its own, and
 * before everything that reads the request's body. Filters before it see the answer when it is whole; headers that they
 * set are made afresh for each replay.
 *
 * <p>The handler's answer is held back, recorded, then sent. An answer over the engine's {@code maxResponseBytes}, or of
 * a streamed media type, is sent as it is written; before its first byte leaves, a tombstone is recorded.
 *
 * <h2>Init parameters</h2>
 *
 * <p>Those of {@link org.idemkey.IdempotencyBuilder}, by the names of its methods ({@code keyHeader}, {@code required},
 * {@code methods}, {@code retention}, …): lists separated by commas, durations as ISO 8601 ({@code PT24H}),
 * {@code bodyMatching} as {@code RAW} or {@code CANONICAL_JSON}, {@code unknownOutcome} as {@code reject} or
 * {@code rerun}, {@code responsePolicy} as {@code ambiguityKept} or {@code failuresUndone}; and {@code streamedTypes} of
 * {@link Builder}. The store is the servlet context's attribute {@code org.idemkey.IdempotencyStore}, or else made by a
 * {@link org.idemkey.IdempotencyStore.Provider} from the same parameters, and closed with the filter. An unknown or
 * malformed parameter fails the start.
 *
 * <p>Thread-safe, as filters have to be.
 */
public final class IdempotencyFilter implements Filter {

    private static final Set<String> STREAMED_TYPES = Set.of("text/event-stream");

    /** Marks a request that this filter has let pass, so that its forwards aren't judged anew. */
    private final String passed = Exchange.ATTRIBUTE + "." + UUID.randomUUID();

    private @Nullable Idempotency engine;
    private Set<String> streamedTypes;
    private @Nullable AutoCloseable ownStore;
    private volatile boolean mappedToAsync;

    /** For containers: {@link #init} makes the engine from the init parameters. */
    public IdempotencyFilter() {
        streamedTypes = STREAMED_TYPES;
    }

    /** A filter with the defaults that {@link Builder} tells. */
    public IdempotencyFilter(Idempotency engine) {
        this(builder(engine));
    }

    private IdempotencyFilter(Builder builder) {
        engine = builder.engine;
        streamedTypes = builder.streamedTypes;
    }

    /** Starts with the defaults that each of the builder's methods tells. */
    public static Builder builder(Idempotency engine) {
        return new Builder(engine);
    }

    /** What the handler of a protected request can know about it; empty if this request runs unprotected. */
    public static Optional<IdempotencyContext> context(ServletRequest request) {
        return request.getAttribute(IdempotencyContext.ATTRIBUTE) instanceof IdempotencyContext context
                ? Optional.of(context)
                : Optional.empty();
    }

    /**
     * Reads the init parameters, unless the filter was made from an engine.
     *
     * @throws ServletException if a parameter is unknown or malformed, or there is no store; the message tells which
     */
    @Override
    public void init(FilterConfig config) throws ServletException {
        if (engine == null) {
            InitParameters.Made made = InitParameters.read(config);
            engine = made.engine();
            streamedTypes = made.streamedTypes() == null ? STREAMED_TYPES : made.streamedTypes();
            ownStore = made.ownStore();
        }
    }

    @Override
    public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
            throws IOException, ServletException {
        if (engine == null) {
            throw new IllegalStateException("init() has not been called");
        }
        if (!(request instanceof HttpServletRequest httpRequest)
                || !(response instanceof HttpServletResponse httpResponse)
                || !engine.protects(httpRequest.getMethod())) {
            chain.doFilter(request, response);
        } else if (isNew(httpRequest)) {
            protect(engine, httpRequest, httpResponse, chain);
        } else if (request.getDispatcherType() == DispatcherType.ASYNC
                && request.getAttribute(Exchange.ATTRIBUTE) instanceof Exchange exchange
                && exchange.isOf(this)) {
            mappedToAsync = true;
            exchange.dispatched(request, response, chain);
        } else {
            chain.doFilter(request, response);
        }
    }

    /** Whether an ASYNC dispatch has ever come through here; there is no other way to know how a filter is mapped. */
    boolean isMappedToAsync() {
        return mappedToAsync;
    }

    Set<String> streamedTypes() {
        return streamedTypes;
    }

    /** A request is claimed once, by whichever filter comes first; fragments and error pages are no requests. */
    private boolean isNew(HttpServletRequest request) {
        DispatcherType type = request.getDispatcherType();
        return type != DispatcherType.ERROR
                && type != DispatcherType.INCLUDE
                && request.getAttribute(Exchange.ATTRIBUTE) == null
                && request.getAttribute(passed) == null;
    }

    private void protect(
            Idempotency engine, HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws IOException, ServletException {
        IncomingRequest incoming = new IncomingRequest(request);
        boolean handedOver = false;
        try {
            Decision decision = engine.decide(incoming);
            RequestBody body = incoming.takenBody();
            if (decision instanceof Decision.Respond respond) {
                Answers.send(response, respond.response());
            } else if (decision instanceof Decision.Proceed proceed) {
                Exchange exchange =
                        new Exchange(this, engine, proceed.lease(), request, requireNonNull(body), response);
                handedOver = true;
                exchange.run(chain);
            } else {
                request.setAttribute(passed, true);
                if (body == null) {
                    chain.doFilter(request, response);
                } else {
                    // Failing open, or only watching: the handler gets the body that we have taken.
                    BufferedRequest buffered = new BufferedRequest(request, body, response);
                    chain.doFilter(buffered, response);
                    handedOver = buffered.closesBody();
                }
            }
        } finally {
            if (!handedOver) {
                incoming.close();
            }
        }
    }

    /** Closes the store, if this filter has made it. */
    @Override
    public void destroy() {
        if (ownStore != null) {
            try {
                ownStore.close();
            } catch (Exception e) {
                throw new IllegalStateException("the idempotency store can't be closed", e);
            }
        }
    }

    /** Collects a filter's settings. Each method names its default. Not thread-safe. */
    public static final class Builder {

        private final Idempotency engine;
        private Set<String> streamedTypes = STREAMED_TYPES;

        private Builder(Idempotency engine) {
            this.engine = requireNonNull(engine, "engine");
        }

        /**
         * The media types of answers that are sent as they are flushed and can't be replayed; {@code text/event-stream}
         * alone by default. A flush of any other answer only commits it.
         */
        public Builder streamedTypes(String... mediaTypes) {
            streamedTypes = lowerCase(mediaTypes);
            return this;
        }

        /** Makes the filter. */
        public IdempotencyFilter build() {
            return new IdempotencyFilter(this);
        }
    }

    static Set<String> lowerCase(String... mediaTypes) {
        Set<String> types = new TreeSet<>();
        for (String type : mediaTypes) {
            types.add(type.toLowerCase(Locale.ROOT));
        }
        return types;
    }
}
