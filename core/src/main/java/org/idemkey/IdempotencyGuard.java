// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import static java.util.Objects.requireNonNull;

import java.util.List;
import java.util.function.Function;

/**
 * Runs an action once per key, without HTTP: for jobs, message handlers and command lines. A repetition gets the stored
 * result. Thread-safe.
 *
 * <p>An action that throws has not done nothing: unless the store undoes its effects, its key is spent, and a repetition
 * is refused as {@link Refusal#FAILED_BEFORE}.
 *
 * @param <T> what the action results in
 */
public final class IdempotencyGuard<T> {

    private static final int DONE = 200;

    private final Idempotency idempotency;
    private final Codec<T> codec;

    /** A guard by an engine's store, terms and choice for unknown outcomes, whose results are kept as a codec says. */
    public IdempotencyGuard(Idempotency idempotency, Codec<T> codec) {
        this.idempotency = requireNonNull(idempotency, "idempotency");
        this.codec = requireNonNull(codec, "codec");
    }

    /**
     * Runs the action, if the key is free, or tells what became of it.
     *
     * @param fingerprint what the action is: under one key, only the same action gets the stored result
     * @param action gets the context of this claim, for downstream keys and the store's own transaction
     * @return an outcome; never null
     * @throws IdempotencyStoreException if the store can't be asked: the action has not run; or if a transactional store
     *     could not say how its commit had ended: repeat to find out
     * @throws Exception whatever the action throws
     */
    public Outcome<T> run(IdempotencyKey key, Fingerprint fingerprint, Action<T> action) throws Exception {
        Claim claim = idempotency.claim(key, fingerprint);
        if (claim instanceof Claim.Acquired acquired) {
            return execute(acquired.lease(), action);
        } else if (claim instanceof Claim.Completed completed) {
            return completed.response().status() == DONE
                    ? new Outcome.Repeated<>(
                            codec.decode(completed.response().body().orElse(Bytes.EMPTY)))
                    : new Outcome.Refused<>(Refusal.FAILED_BEFORE);
        } else if (claim instanceof Claim.Mismatched) {
            return new Outcome.Refused<>(Refusal.MISMATCHED);
        } else if (claim instanceof Claim.InProgress) {
            return new Outcome.Refused<>(Refusal.IN_PROGRESS);
        }
        return new Outcome.Refused<>(Refusal.OUTCOME_UNKNOWN);
    }

    private Outcome<T> execute(Lease lease, Action<T> action) throws Exception {
        T result;
        Bytes encoded;
        try {
            Lease.Binding binding = lease.bind();
            try {
                result = action.run(new IdempotencyContext(lease));
                encoded = codec.encode(result);
            } finally {
                binding.close();
            }
        } catch (Throwable e) {
            idempotency.fail(lease, e);
            throw e;
        }
        return switch (idempotency.record(lease, StoredResponse.of(DONE, List.of(), encoded), null)) {
            case KEPT -> new Outcome.Executed<>(result);
            case LOST -> new Outcome.Refused<>(Refusal.CLAIM_LOST);
            case UNCERTAIN ->
                throw new IdempotencyStoreException(
                        "the outcome of key " + lease.key() + " is not known yet; repeat to find out", null);
        };
    }

    /** What is run once. */
    @FunctionalInterface
    public interface Action<T> {

        /** Has the effect, and answers with what a repetition shall get too. */
        T run(IdempotencyContext context) throws Exception;
    }

    /** How a result is kept. What it encodes it must be able to decode for as long as keys are retained. */
    public interface Codec<T> {

        /** The bytes to keep. */
        Bytes encode(T result);

        /** The result that these bytes were made of. */
        T decode(Bytes bytes);

        /** Keeps a text in UTF-8. */
        static Codec<String> text() {
            return of(Bytes::utf8, Bytes::toUtf8);
        }

        /** A codec of two functions. */
        static <T> Codec<T> of(Function<T, Bytes> encoder, Function<Bytes, T> decoder) {
            return new Codec<>() {
                @Override
                public Bytes encode(T result) {
                    return encoder.apply(result);
                }

                @Override
                public T decode(Bytes bytes) {
                    return decoder.apply(bytes);
                }
            };
        }
    }

    /** What became of a run: one of three. */
    public sealed interface Outcome<T> {

        /** The action has run now. */
        record Executed<T>(T result) implements Outcome<T> {}

        /** It had run before, with this result. */
        record Repeated<T>(T result) implements Outcome<T> {}

        /** It has not run now, and there is no result to give. */
        record Refused<T>(Refusal reason) implements Outcome<T> {}
    }

    /** Why there is no result. */
    public enum Refusal {
        /** The key belongs to another action. */
        MISMATCHED,
        /** It is running elsewhere; try again later. */
        IN_PROGRESS,
        /** An earlier run never told how it ended. */
        OUTCOME_UNKNOWN,
        /** An earlier run threw, and what it did by then stands. */
        FAILED_BEFORE,
        /** It has run now, but the claim had been lost meanwhile; a transactional store has undone it. */
        CLAIM_LOST
    }
}
