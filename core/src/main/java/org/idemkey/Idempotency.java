// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import static java.util.Objects.requireNonNull;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.idemkey.IdempotencyListener.Event;
import org.idemkey.IdempotencyStore.Completion;
import org.idemkey.StoredResponse.Header;
import org.jspecify.annotations.Nullable;

/**
 * The engine: turns a request into a {@link Decision}, and a handler's end into what is kept. Every status code and
 * problem document is decided here, once; adapters only translate. Thread-safe, and meant to be shared by all adapters
 * of an application.
 *
 * <table>
 * <caption>What a request finds</caption>
 * <tr><th>state of the key</th><th>decision</th></tr>
 * <tr><td>none, or expired</td><td>proceed</td></tr>
 * <tr><td>another fingerprint</td><td>422 {@code key-reused}</td></tr>
 * <tr><td>completed</td><td>the stored response, marked</td></tr>
 * <tr><td>completed with a tombstone</td><td>409 {@code response-not-replayable}</td></tr>
 * <tr><td>in flight, lease live</td><td>409 {@code in-progress} with {@code Retry-After}</td></tr>
 * <tr><td>in flight, lease lapsed</td><td>by {@link UnknownOutcome}; at first 409 {@code outcome-unknown}</td></tr>
 * </table>
 */
public final class Idempotency {

    private final IdempotencyStore store;
    private final String keyHeader;
    private final boolean strictKeys;
    private final boolean required;
    private final Set<String> methods;
    private final Terms terms;
    private final RequestBody.Limits requestLimits;
    private final int maxResponseBytes;
    private final Fingerprinter fingerprinter;
    private final UnknownOutcome unknownOutcome;
    private final ResponsePolicy responsePolicy;
    private final int conflictStatus;
    private final int mismatchStatus;
    private final long retryAfterSeconds;
    private final Header replayMarker;
    private final boolean keepCookies;
    private final boolean failOpen;
    private final boolean shadow;
    private final IdempotencyListener listener;

    private Idempotency(Builder builder) {
        store = builder.store;
        keyHeader = builder.keyHeader;
        strictKeys = builder.strictKeys;
        required = builder.required;
        methods = Set.copyOf(builder.methods);
        terms = new Terms(builder.lease, builder.retention);
        requestLimits =
                new RequestBody.Limits(builder.shadow ? Long.MAX_VALUE : builder.maxRequestBytes, builder.memoryBytes);
        maxResponseBytes = builder.maxResponseBytes;
        fingerprinter = new Fingerprinter(builder.bodyMatching, List.copyOf(builder.fingerprintHeaders));
        unknownOutcome = builder.unknownOutcome;
        responsePolicy = builder.responsePolicy != null
                ? builder.responsePolicy
                : store.isTransactional() ? ResponsePolicy.failuresUndone() : ResponsePolicy.ambiguityKept();
        conflictStatus = builder.conflictStatus;
        mismatchStatus = builder.mismatchStatus;
        retryAfterSeconds = builder.retryAfter.toSeconds();
        replayMarker = new Header(builder.replayHeader, "true");
        keepCookies = builder.keepCookies;
        failOpen = builder.failOpen;
        shadow = builder.shadow;
        listener = builder.listener;
    }

    /** An engine with the defaults that {@link Builder} tells. */
    public static Idempotency of(IdempotencyStore store) {
        return builder(store).build();
    }

    /** Starts with the defaults that each of the builder's methods tells. */
    public static Builder builder(IdempotencyStore store) {
        return new Builder(store);
    }

    /** Whether requests of this method are any of ours; nothing else is looked at, and nothing is allocated. */
    public boolean protects(String method) {
        return methods.contains(method);
    }

    /** The longest response body that is held back and kept, in bytes. */
    public int maxResponseBytes() {
        return maxResponseBytes;
    }

    /** Whether an answer with this status is final, and so kept. */
    public boolean keepsStatus(int status) {
        return responsePolicy.keepsStatus(status);
    }

    /**
     * Decides what is to be done with a request. The key is judged before the body is read, and the body is read before
     * the store is asked.
     *
     * @throws IOException if the request's body could not be read
     */
    public Decision decide(ProtectedRequest request) throws IOException {
        if (!protects(request.method())) {
            return Decision.PassThrough.INSTANCE;
        }
        Decision decision = judge(request);
        return shadow && decision instanceof Decision.Respond ? Decision.PassThrough.INSTANCE : decision;
    }

    private Decision judge(ProtectedRequest request) throws IOException {
        List<String> lines = request.fieldLines(keyHeader);
        if (lines.isEmpty()) {
            if (!required) {
                return Decision.PassThrough.INSTANCE;
            }
            report(Event.KEY_MISSING, null, null);
            return refuse(Problem.KEY_MISSING, "This request needs the header " + keyHeader + ".");
        }
        String value;
        try {
            value = KeyHeader.parse(lines, strictKeys);
        } catch (KeyHeader.MalformedException e) {
            report(Event.KEY_INVALID, null, e);
            return refuse(
                    Problem.KEY_INVALID, "The header " + keyHeader + " holds no valid key: " + e.getMessage() + ".");
        }
        String caller = request.caller();
        IdempotencyKey key = new IdempotencyKey(caller == null ? Scope.ANONYMOUS : Scope.caller(caller), value);
        Fingerprint fingerprint;
        try {
            fingerprint = fingerprinter.fingerprint(request, request.body(requestLimits));
        } catch (RequestBody.TooLargeException e) {
            report(Event.BODY_TOO_LARGE, key, e);
            return refuse(
                    Problem.BODY_TOO_LARGE,
                    "The body of a protected request may have " + requestLimits.maxBytes() + " bytes at most.");
        }
        return decide(key, fingerprint);
    }

    private Decision decide(IdempotencyKey key, Fingerprint fingerprint) {
        Claim claim;
        try {
            claim = claim(key, fingerprint);
        } catch (IdempotencyStoreException e) {
            return failOpen
                    ? Decision.PassThrough.INSTANCE
                    : refuse(
                            Problem.STORE_UNAVAILABLE,
                            "The request was not executed. Send it again later, with the same key.");
        }
        if (claim instanceof Claim.Acquired acquired) {
            return new Decision.Proceed(acquired.lease());
        } else if (claim instanceof Claim.Completed completed) {
            return completed.response().isTombstone()
                    ? refuse(
                            Problem.RESPONSE_NOT_REPLAYABLE,
                            "The request was executed and answered with status "
                                    + completed.response().status()
                                    + ", but its answer was not kept. It is not executed again.")
                    : new Decision.Respond(completed.response().with(replayMarker));
        } else if (claim instanceof Claim.Mismatched) {
            return refuse(Problem.MISMATCH, "This key belongs to another request. Use a new key for a new request.");
        } else if (claim instanceof Claim.InProgress) {
            return refuse(
                    Problem.IN_PROGRESS, "A request with this key is being executed. Send it again for its answer.");
        }
        return refuse(
                Problem.OUTCOME_UNKNOWN,
                "The first request with this key never told how it ended. It is not executed again.");
    }

    /**
     * Claims a key for something that needn't be an HTTP request, by this engine's terms and its choice for unknown
     * outcomes, and reports what it found.
     *
     * @throws IdempotencyStoreException if the store can't be asked; the handler must not run then
     */
    public Claim claim(IdempotencyKey key, Fingerprint fingerprint) {
        try {
            Claim claim = store.claim(key, fingerprint, terms);
            Event event = Event.CLAIMED;
            if (claim instanceof Claim.OutcomeUnknown unknown) {
                claim = resolve(unknown, fingerprint);
                event = Event.TAKEN_OVER;
            }
            report(claim instanceof Claim.Acquired ? event : eventOf(claim), key, null);
            return claim;
        } catch (IdempotencyStoreException e) {
            report(Event.STORE_UNAVAILABLE, key, e);
            throw e;
        }
    }

    private Claim resolve(Claim.OutcomeUnknown unknown, Fingerprint fingerprint) {
        if (unknownOutcome instanceof UnknownOutcome.Rerun && !unknown.effectConfirmed()) {
            return store.takeOver(unknown.stale(), fingerprint, terms);
        }
        if (unknownOutcome instanceof UnknownOutcome.Reconcile reconcile) {
            UnknownOutcome.Finding finding;
            try {
                finding = reconcile.reconciler().reconcile(unknown);
            } catch (RuntimeException e) {
                report(Event.OUTCOME_UNKNOWN, unknown.stale().key(), e);
                return unknown;
            }
            StoredResponse response = finding.response();
            if (response != null) {
                StoredResponse kept = response.with(HeaderRules.keepable(response.headers(), keepCookies));
                return store.complete(unknown.stale(), kept) == Completion.LOST
                        ? store.claim(unknown.stale().key(), fingerprint, terms)
                        : new Claim.Completed(kept);
            }
            if (finding.isNotExecuted()) {
                return store.takeOver(unknown.stale(), fingerprint, terms);
            }
        }
        return unknown;
    }

    private static Event eventOf(Claim claim) {
        if (claim instanceof Claim.Completed completed) {
            return completed.response().isTombstone() ? Event.NOT_REPLAYABLE : Event.REPLAYED;
        } else if (claim instanceof Claim.Mismatched) {
            return Event.MISMATCHED;
        } else if (claim instanceof Claim.InProgress) {
            return Event.IN_PROGRESS;
        }
        return Event.OUTCOME_UNKNOWN;
    }

    /**
     * Ends a claim with the handler's answer: records it if it is final, else frees the key. Call it before the first
     * byte of the answer leaves.
     *
     * @param response the handler's own answer, with all its headers; those that must not be replayed are left out here
     * @return what has to be sent in place of the handler's answer; empty in the ordinary case that it is to be sent
     */
    public Optional<StoredResponse> finish(Lease lease, StoredResponse response) {
        if (!keepsStatus(response.status())) {
            release(lease);
            return Optional.empty();
        }
        return switch (record(lease, response)) {
            case KEPT -> Optional.empty();
            case LOST ->
                Optional.of(
                        problem(
                                Problem.IN_PROGRESS,
                                "The claim of this key was lost while the request was executed. Send it again for the answer."));
            case UNCERTAIN ->
                Optional.of(
                        problem(
                                Problem.STORE_UNAVAILABLE,
                                "Whether the request took effect is not known yet. Send it again with the same key to find out."));
        };
    }

    /** How a claim ended that was to be recorded. */
    enum Ending {
        KEPT,
        LOST,
        UNCERTAIN
    }

    Ending record(Lease lease, StoredResponse response) {
        try {
            StoredResponse kept = response.with(HeaderRules.keepable(response.headers(), keepCookies));
            Completion completion = store.complete(lease, kept);
            report(eventOf(completion), lease.key(), null);
            return completion == Completion.LOST ? Ending.LOST : Ending.KEPT;
        } catch (RuntimeException e) {
            report(Event.RECORDING_FAILED, lease.key(), e);
            // Where the effects stand anyway, the client is better off with its answer than without.
            return store.isTransactional() ? Ending.UNCERTAIN : Ending.KEPT;
        }
    }

    private static Event eventOf(Completion completion) {
        return switch (completion) {
            case RECORDED -> Event.RECORDED;
            case DEFERRED -> Event.RECORDING_DEFERRED;
            case LOST -> Event.CLAIM_LOST;
        };
    }

    /**
     * Ends a claim whose handler threw. Throwing is not doing nothing: unless the store undoes the effects, a 500 is
     * recorded. Never throws, so that the handler's own exception can go on.
     */
    public void fail(Lease lease, Throwable failure) {
        if (responsePolicy.keepsException()) {
            record(lease, StoredResponse.errorPage(500, List.of(), ""));
        } else {
            release(lease);
        }
    }

    /** Frees the key of a handler that certainly did nothing. Never throws. */
    public void release(Lease lease) {
        try {
            report(store.release(lease) ? Event.RELEASED : Event.CLAIM_LOST, lease.key(), null);
        } catch (RuntimeException e) {
            report(Event.STORE_UNAVAILABLE, lease.key(), e);
        }
    }

    private Decision refuse(Problem problem, String detail) {
        return new Decision.Respond(problem(problem, detail));
    }

    private StoredResponse problem(Problem problem, String detail) {
        int status = problem.status();
        if (problem == Problem.MISMATCH) {
            status = mismatchStatus;
        } else if (status == Problem.IN_PROGRESS.status()) {
            status = conflictStatus;
        }
        return problem.toResponse(status, detail, retryAfterSeconds);
    }

    private void report(Event event, @Nullable IdempotencyKey key, @Nullable Throwable cause) {
        try {
            listener.on(event, key, cause);
        } catch (RuntimeException e) {
            // Watching must not change what is watched.
        }
    }

    /** Collects settings; {@link #build()} checks them. Not thread-safe. */
    public static final class Builder {

        private final IdempotencyStore store;
        private String keyHeader = "Idempotency-Key";
        private boolean strictKeys;
        private boolean required = true;
        private Set<String> methods = Set.of("POST", "PATCH");
        private Duration lease = Terms.defaults().lease();
        private Duration retention = Terms.defaults().retention();
        private long maxRequestBytes = 1 << 20;
        private int memoryBytes = 64 << 10;
        private int maxResponseBytes = 1 << 20;
        private BodyMatching bodyMatching = BodyMatching.RAW;
        private Set<String> fingerprintHeaders = Set.of();
        private UnknownOutcome unknownOutcome = UnknownOutcome.reject();
        private @Nullable ResponsePolicy responsePolicy;
        private int conflictStatus = Problem.IN_PROGRESS.status();
        private int mismatchStatus = Problem.MISMATCH.status();
        private Duration retryAfter = Duration.ofSeconds(1);
        private String replayHeader = "Idempotent-Replayed";
        private boolean keepCookies;
        private boolean failOpen;
        private boolean shadow;
        private IdempotencyListener listener = IdempotencyListener.none();

        private Builder(IdempotencyStore store) {
            this.store = requireNonNull(store, "store");
        }

        /** The header field that carries the key; {@code Idempotency-Key} by default. */
        public Builder keyHeader(String name) {
            keyHeader = requireNonNull(name, "name");
            return this;
        }

        /** Whether only RFC 9651 Strings are keys; false by default, so that bare values are keys too. */
        public Builder strictKeys(boolean strict) {
            strictKeys = strict;
            return this;
        }

        /** Whether a request without a key is refused; true by default. Otherwise it runs unprotected. */
        public Builder required(boolean required) {
            this.required = required;
            return this;
        }

        /** The protected methods, in upper case; POST and PATCH by default. Never GET, HEAD, OPTIONS or TRACE. */
        public Builder methods(String... methods) {
            this.methods = Set.of(methods);
            return this;
        }

        /** How long an owner may be silent; 30 seconds by default, 1 ms at least. */
        public Builder lease(Duration lease) {
            this.lease = requireNonNull(lease, "lease");
            return this;
        }

        /** How long a key is known, counted from its claim; 24 hours by default, 1 ms at least. */
        public Builder retention(Duration retention) {
            this.retention = requireNonNull(retention, "retention");
            return this;
        }

        /** The longest request body, in bytes; 1 MiB by default. A longer one is refused with 413. */
        public Builder maxRequestBytes(long bytes) {
            maxRequestBytes = bytes;
            return this;
        }

        /** The longest request body that is kept in memory, in bytes; 64 KiB by default. Others go to a file. */
        public Builder memoryBytes(int bytes) {
            memoryBytes = bytes;
            return this;
        }

        /** The longest response body that is kept, in bytes; 1 MiB by default. A longer one leaves a tombstone. */
        public Builder maxResponseBytes(int bytes) {
            maxResponseBytes = bytes;
            return this;
        }

        /** When two bodies are the same; {@link BodyMatching#RAW} by default. */
        public Builder bodyMatching(BodyMatching matching) {
            bodyMatching = requireNonNull(matching, "matching");
            return this;
        }

        /** Header fields that are part of what a request is; none by default. Never take volatile ones. */
        public Builder fingerprintHeaders(String... names) {
            fingerprintHeaders = new TreeSet<>(String.CASE_INSENSITIVE_ORDER);
            fingerprintHeaders.addAll(List.of(names));
            return this;
        }

        /** What to do when an owner disappeared; {@link UnknownOutcome#reject()} by default. */
        public Builder unknownOutcome(UnknownOutcome choice) {
            unknownOutcome = requireNonNull(choice, "choice");
            return this;
        }

        /**
         * Which answers are final; by default {@link ResponsePolicy#failuresUndone()} for a transactional store, else
         * {@link ResponsePolicy#ambiguityKept()}.
         */
        public Builder responsePolicy(ResponsePolicy policy) {
            responsePolicy = requireNonNull(policy, "policy");
            return this;
        }

        /** The status for a request in flight, an unknown outcome and a lost answer; 409 by default. */
        public Builder conflictStatus(int status) {
            conflictStatus = status;
            return this;
        }

        /** The status for a key that belongs to another request; 422 by default. */
        public Builder mismatchStatus(int status) {
            mismatchStatus = status;
            return this;
        }

        /** What {@code Retry-After} says, in whole seconds; 1 second by default and at least. */
        public Builder retryAfter(Duration wait) {
            retryAfter = requireNonNull(wait, "wait");
            return this;
        }

        /** The header field that marks a replay; {@code Idempotent-Replayed} by default. Its value is {@code true}. */
        public Builder replayHeader(String name) {
            replayHeader = requireNonNull(name, "name");
            return this;
        }

        /** Whether {@code Set-Cookie} is kept and replayed; false by default, since it may hand over a session. */
        public Builder keepCookies(boolean keep) {
            keepCookies = keep;
            return this;
        }

        /**
         * Whether requests run unprotected while the store is away; false by default, so that they get 503. True gives
         * up the promise for that time.
         */
        public Builder failOpen(boolean open) {
            failOpen = open;
            return this;
        }

        /**
         * Whether to watch only: the listener hears of missing keys, mismatches and would-be replays, but every request
         * runs. False by default. True gives up the promise.
         */
        public Builder shadow(boolean shadow) {
            this.shadow = shadow;
            return this;
        }

        /** Who is told what happens; nobody by default. */
        public Builder listener(IdempotencyListener listener) {
            this.listener = requireNonNull(listener, "listener");
            return this;
        }

        /**
         * Checks all settings and makes the engine.
         *
         * @throws IllegalArgumentException if a setting is out of its bounds; the message names it
         */
        public Idempotency build() {
            require(HeaderRules.isToken(keyHeader), "keyHeader must be a header name");
            require(HeaderRules.isToken(replayHeader), "replayHeader must be a header name");
            require(!methods.isEmpty(), "methods must not be empty");
            for (String method : methods) {
                require(HeaderRules.isToken(method), "methods must be method names");
                require(
                        !Set.of("GET", "HEAD", "OPTIONS", "TRACE").contains(method),
                        "methods must not hold the safe method " + method);
            }
            for (String name : fingerprintHeaders) {
                require(HeaderRules.isToken(name), "fingerprintHeaders must be header names");
            }
            require(maxRequestBytes >= 0, "maxRequestBytes must be 0 or more");
            require(
                    memoryBytes >= 0 && memoryBytes <= RequestBody.Limits.MAX_MEMORY_BYTES,
                    "memoryBytes must be 0 to 1 GiB");
            require(maxResponseBytes >= 0, "maxResponseBytes must be 0 or more");
            require(isClientError(conflictStatus), "conflictStatus must be 400 to 499");
            require(isClientError(mismatchStatus), "mismatchStatus must be 400 to 499");
            require(retryAfter.toSeconds() >= 1, "retryAfter must be 1 second or more");
            return new Idempotency(this);
        }

        private static boolean isClientError(int status) {
            return status >= 400 && status <= 499;
        }

        private static void require(boolean held, String message) {
            if (!held) {
                throw new IllegalArgumentException(message);
            }
        }
    }
}
