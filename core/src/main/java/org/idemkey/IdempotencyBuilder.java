// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import static java.util.Objects.requireNonNull;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Collects an engine's settings; {@link #build()} checks them. Each method names its default. Not thread-safe.
 */
public final class IdempotencyBuilder {

    final IdempotencyStore store;
    String keyHeader = "Idempotency-Key";
    boolean strictKeys;
    boolean required = true;
    Set<String> methods = Set.of("POST", "PATCH");
    Duration lease = Terms.defaults().lease();
    Duration retention = Terms.defaults().retention();
    long maxRequestBytes = 1 << 20;
    int memoryBytes = 64 << 10;
    int maxResponseBytes = 1 << 20;
    BodyMatching bodyMatching = BodyMatching.RAW;
    Set<String> fingerprintHeaders = Set.of();
    UnknownOutcome unknownOutcome = UnknownOutcome.reject();

    @Nullable
    ResponsePolicy responsePolicy;

    int conflictStatus = Problem.IN_PROGRESS.status();
    int mismatchStatus = Problem.MISMATCH.status();
    Duration retryAfter = Duration.ofSeconds(1);
    String replayHeader = "Idempotent-Replayed";
    boolean keepCookies;
    boolean failOpen;
    boolean shadow;
    IdempotencyListener listener = IdempotencyListener.none();

    IdempotencyBuilder(IdempotencyStore store) {
        this.store = requireNonNull(store, "store");
    }

    /** A copy that no later call on the other one changes. */
    IdempotencyBuilder(IdempotencyBuilder other) {
        store = other.store;
        keyHeader = other.keyHeader;
        strictKeys = other.strictKeys;
        required = other.required;
        methods = other.methods;
        lease = other.lease;
        retention = other.retention;
        maxRequestBytes = other.maxRequestBytes;
        memoryBytes = other.memoryBytes;
        maxResponseBytes = other.maxResponseBytes;
        bodyMatching = other.bodyMatching;
        fingerprintHeaders = other.fingerprintHeaders;
        unknownOutcome = other.unknownOutcome;
        responsePolicy = other.responsePolicy;
        conflictStatus = other.conflictStatus;
        mismatchStatus = other.mismatchStatus;
        retryAfter = other.retryAfter;
        replayHeader = other.replayHeader;
        keepCookies = other.keepCookies;
        failOpen = other.failOpen;
        shadow = other.shadow;
        listener = other.listener;
    }

    /** The header field that carries the key; {@code Idempotency-Key} by default. */
    public IdempotencyBuilder keyHeader(String name) {
        keyHeader = requireNonNull(name, "name");
        return this;
    }

    /** Whether only RFC 9651 Strings are keys; false by default, so that bare values are keys too. */
    public IdempotencyBuilder strictKeys(boolean strict) {
        strictKeys = strict;
        return this;
    }

    /** Whether a request without a key is refused; true by default. Otherwise it runs unprotected. */
    public IdempotencyBuilder required(boolean required) {
        this.required = required;
        return this;
    }

    /** The protected methods, in upper case; POST and PATCH by default. Never GET, HEAD, OPTIONS or TRACE. */
    public IdempotencyBuilder methods(String... methods) {
        this.methods = Set.of(methods);
        return this;
    }

    /** How long an owner may be silent; 30 seconds by default, 1 ms at least. */
    public IdempotencyBuilder lease(Duration lease) {
        this.lease = requireNonNull(lease, "lease");
        return this;
    }

    /** How long a key is known, counted from its claim; 24 hours by default, 1 ms at least. */
    public IdempotencyBuilder retention(Duration retention) {
        this.retention = requireNonNull(retention, "retention");
        return this;
    }

    /** The longest request body, in bytes; 1 MiB by default. A longer one is refused with 413. */
    public IdempotencyBuilder maxRequestBytes(long bytes) {
        maxRequestBytes = bytes;
        return this;
    }

    /** The longest request body that is kept in memory, in bytes; 64 KiB by default. Others go to a file. */
    public IdempotencyBuilder memoryBytes(int bytes) {
        memoryBytes = bytes;
        return this;
    }

    /** The longest response body that is kept, in bytes; 1 MiB by default. A longer one leaves a tombstone. */
    public IdempotencyBuilder maxResponseBytes(int bytes) {
        maxResponseBytes = bytes;
        return this;
    }

    /** When two bodies are the same; {@link BodyMatching#RAW} by default. */
    public IdempotencyBuilder bodyMatching(BodyMatching matching) {
        bodyMatching = requireNonNull(matching, "matching");
        return this;
    }

    /** Header fields that are part of what a request is; none by default. Never take volatile ones. */
    public IdempotencyBuilder fingerprintHeaders(String... names) {
        fingerprintHeaders = new TreeSet<>(String.CASE_INSENSITIVE_ORDER);
        fingerprintHeaders.addAll(List.of(names));
        return this;
    }

    /** What to do when an owner disappeared; {@link UnknownOutcome#reject()} by default. */
    public IdempotencyBuilder unknownOutcome(UnknownOutcome choice) {
        unknownOutcome = requireNonNull(choice, "choice");
        return this;
    }

    /**
     * Which answers are final; by default {@link ResponsePolicy#failuresUndone()} for a transactional store, else
     * {@link ResponsePolicy#ambiguityKept()}.
     */
    public IdempotencyBuilder responsePolicy(ResponsePolicy policy) {
        responsePolicy = requireNonNull(policy, "policy");
        return this;
    }

    /** The status for a request in flight, an unknown outcome and a lost answer; 409 by default. */
    public IdempotencyBuilder conflictStatus(int status) {
        conflictStatus = status;
        return this;
    }

    /** The status for a key that belongs to another request; 422 by default. */
    public IdempotencyBuilder mismatchStatus(int status) {
        mismatchStatus = status;
        return this;
    }

    /** What {@code Retry-After} says, in whole seconds; 1 second by default and at least. */
    public IdempotencyBuilder retryAfter(Duration wait) {
        retryAfter = requireNonNull(wait, "wait");
        return this;
    }

    /** The header field that marks a replay; {@code Idempotent-Replayed} by default. Its value is {@code true}. */
    public IdempotencyBuilder replayHeader(String name) {
        replayHeader = requireNonNull(name, "name");
        return this;
    }

    /** Whether {@code Set-Cookie} is kept and replayed; false by default, since it may hand over a session. */
    public IdempotencyBuilder keepCookies(boolean keep) {
        keepCookies = keep;
        return this;
    }

    /**
     * Whether requests run unprotected while the store is away; false by default, so that they get 503. True gives
     * up the promise for that time.
     */
    public IdempotencyBuilder failOpen(boolean open) {
        failOpen = open;
        return this;
    }

    /**
     * Whether to watch only: the listener hears of missing keys, mismatches and would-be replays, but every request
     * runs. False by default. True gives up the promise.
     */
    public IdempotencyBuilder shadow(boolean shadow) {
        this.shadow = shadow;
        return this;
    }

    /** Who is told what happens; nobody by default. */
    public IdempotencyBuilder listener(IdempotencyListener listener) {
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
