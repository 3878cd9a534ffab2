// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.Set;
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

    private final IdempotencyBuilder settings;
    private final IdempotencyStore store;
    private final Set<String> methods;
    private final Terms terms;
    private final RequestBody.Limits requestLimits;
    private final Fingerprinter fingerprinter;
    private final ResponsePolicy responsePolicy;
    private final Header replayMarker;

    Idempotency(IdempotencyBuilder builder) {
        settings = new IdempotencyBuilder(builder);
        store = settings.store;
        methods = Set.copyOf(settings.methods);
        terms = new Terms(settings.lease, settings.retention);
        // Who only watches refuses no request for its length.
        requestLimits = new RequestBody.Limits(
                settings.shadow ? Long.MAX_VALUE : settings.maxRequestBytes, settings.memoryBytes);
        fingerprinter = new Fingerprinter(settings.bodyMatching, List.copyOf(settings.fingerprintHeaders));
        responsePolicy = settings.responsePolicy != null
                ? settings.responsePolicy
                : store.isTransactional() ? ResponsePolicy.failuresUndone() : ResponsePolicy.ambiguityKept();
        replayMarker = new Header(settings.replayHeader, "true");
    }

    /** An engine with the defaults that {@link IdempotencyBuilder} tells. */
    public static Idempotency of(IdempotencyStore store) {
        return builder(store).build();
    }

    /** Starts with the defaults that each of the builder's methods tells. */
    public static IdempotencyBuilder builder(IdempotencyStore store) {
        return new IdempotencyBuilder(store);
    }

    /** Starts with this engine's settings, for another one over the same store; this one never changes. */
    public IdempotencyBuilder toBuilder() {
        return new IdempotencyBuilder(settings);
    }

    /** Whether requests of this method are any of ours; nothing else is looked at, and nothing is allocated. */
    public boolean protects(String method) {
        return methods.contains(method);
    }

    /** The longest response body that is held back and kept, in bytes. */
    public int maxResponseBytes() {
        return settings.maxResponseBytes;
    }

    /** Whether handlers' effects live in the store's own transaction; see {@link IdempotencyStore#isTransactional}. */
    public boolean isTransactional() {
        return store.isTransactional();
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
        return settings.shadow && decision instanceof Decision.Respond ? Decision.PassThrough.INSTANCE : decision;
    }

    private Decision judge(ProtectedRequest request) throws IOException {
        List<String> lines = request.fieldLines(settings.keyHeader);
        if (lines.isEmpty()) {
            if (!settings.required) {
                return Decision.PassThrough.INSTANCE;
            }
            report(Event.KEY_MISSING, null, null);
            return refuse(Problem.KEY_MISSING, "This request needs the header " + settings.keyHeader + ".");
        }
        String value;
        try {
            value = KeyHeader.parse(lines, settings.strictKeys);
        } catch (KeyHeader.MalformedException e) {
            report(Event.KEY_INVALID, null, e);
            return refuse(
                    Problem.KEY_INVALID,
                    "The header " + settings.keyHeader + " holds no valid key: " + e.getMessage() + ".");
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
            return settings.failOpen
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
        if (settings.unknownOutcome instanceof UnknownOutcome.Rerun && !unknown.effectConfirmed()) {
            return store.takeOver(unknown.stale(), fingerprint, terms);
        }
        if (settings.unknownOutcome instanceof UnknownOutcome.Reconcile reconcile) {
            UnknownOutcome.Finding finding;
            try {
                finding = reconcile.reconciler().reconcile(unknown);
            } catch (RuntimeException e) {
                report(Event.OUTCOME_UNKNOWN, unknown.stale().key(), e);
                return unknown;
            }
            StoredResponse response = finding.response();
            if (response != null) {
                StoredResponse kept = response.with(HeaderRules.keepable(response.headers(), settings.keepCookies));
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
        return keepsStatus(response.status()) ? keep(lease, response) : free(lease);
    }

    /**
     * Like {@link #finish}, for an answer that may stem from someone else while the handler is still at work, such as
     * the 503 of a time-out. No status can say then that nothing was done: unless the store undoes the effects, the
     * answer is recorded whatever its status.
     */
    public Optional<StoredResponse> finishDetached(Lease lease, StoredResponse response) {
        return keepsStatus(response.status()) || !isTransactional() ? keep(lease, response) : free(lease);
    }

    private Optional<StoredResponse> free(Lease lease) {
        return release(lease, null) ? Optional.empty() : Optional.of(claimLost());
    }

    private Optional<StoredResponse> keep(Lease lease, StoredResponse response) {
        return switch (record(lease, response, null)) {
            case KEPT -> Optional.empty();
            case LOST -> Optional.of(claimLost());
            case UNCERTAIN ->
                Optional.of(
                        problem(
                                Problem.STORE_UNAVAILABLE,
                                "Whether the request took effect is not known yet. Send it again with the same key to find out."));
        };
    }

    /** Whoever has the key now may have succeeded, even be known to the client to have: no other answer must follow. */
    private StoredResponse claimLost() {
        return problem(
                Problem.IN_PROGRESS,
                "The claim of this key was lost while the request was executed. Send it again for the answer.");
    }

    /** How a claim ended that was to be recorded. */
    enum Ending {
        KEPT,
        LOST,
        UNCERTAIN
    }

    Ending record(Lease lease, StoredResponse response, @Nullable Throwable failure) {
        try {
            StoredResponse kept = response.with(HeaderRules.keepable(response.headers(), settings.keepCookies));
            Completion completion = store.complete(lease, kept);
            report(eventOf(completion), lease.key(), failure);
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
        fail(lease, failure, List.of());
    }

    /** Like {@link #fail(Lease, Throwable)}, where the page of an exception keeps headers that the handler had set. */
    public void fail(Lease lease, Throwable failure, List<StoredResponse.Header> headers) {
        if (responsePolicy.keepsException()) {
            record(lease, StoredResponse.errorPage(500, headers, ""), failure);
        } else {
            release(lease, failure);
        }
    }

    /** Frees the key of a handler that certainly did nothing. Never throws. */
    public void release(Lease lease) {
        release(lease, null);
    }

    /** Frees the key; false if it is known to be somebody else's by now. */
    private boolean release(Lease lease, @Nullable Throwable failure) {
        try {
            boolean released = store.release(lease);
            report(released ? Event.RELEASED : Event.CLAIM_LOST, lease.key(), failure);
            return released;
        } catch (RuntimeException e) {
            report(Event.STORE_UNAVAILABLE, lease.key(), e);
            return true;
        }
    }

    private Decision refuse(Problem problem, String detail) {
        return new Decision.Respond(problem(problem, detail));
    }

    private StoredResponse problem(Problem problem, String detail) {
        int status = problem.status();
        if (problem == Problem.MISMATCH) {
            status = settings.mismatchStatus;
        } else if (status == Problem.IN_PROGRESS.status()) {
            status = settings.conflictStatus;
        }
        return problem.toResponse(status, detail, settings.retryAfter.toSeconds());
    }

    private void report(Event event, @Nullable IdempotencyKey key, @Nullable Throwable cause) {
        try {
            settings.listener.on(event, key, cause);
        } catch (RuntimeException e) {
            // Watching must not change what is watched.
        }
    }
}
