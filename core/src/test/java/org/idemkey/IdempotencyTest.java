// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.assertj.core.api.AbstractStringAssert;
import org.idemkey.IdempotencyListener.Event;
import org.idemkey.StoredResponse.Header;
import org.idemkey.UnknownOutcome.Finding;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.json.JsonFactory;

class IdempotencyTest {

    private static final StoredResponse CREATED =
            StoredResponse.of(201, List.of(new Header("Location", "/payments/1")), Bytes.utf8("{\"id\":1}"));

    private final TickingClock clock = new TickingClock();
    private final CountingStore store = new CountingStore(new InMemoryIdempotencyStore(clock));
    private final List<Event> events = new ArrayList<>();
    private final IdempotencyBuilder builder =
            Idempotency.builder(store).listener((event, key, cause) -> events.add(event));
    private Idempotency engine = builder.build();

    /** Lines 17 and 19. */
    @ParameterizedTest
    @ValueSource(strings = {"GET", "HEAD", "OPTIONS", "PUT", "DELETE", "post"})
    void otherMethodsPassAndAskNothing(String method) throws IOException {
        FakeRequest request = FakeRequest.withKey("k").method(method);
        assertThat(engine.decide(request)).isInstanceOf(Decision.PassThrough.class);
        assertThat(request.bodyReads).isZero();
        assertThat(store.calls).isZero();
        assertThat(events).isEmpty();
    }

    /** Line 19. */
    @Test
    void aMissingKeyIsRefusedWithTheNameOfItsHeader() throws IOException {
        assertProblem(engine.decide(new FakeRequest()), Problem.KEY_MISSING, 400)
                .satisfies(text -> assertThat(text).contains("Idempotency-Key"));
        assertThat(store.calls).isZero();
    }

    /** Line 19. */
    @Test
    void aMissingKeyPassesWhereItIsOptional() throws IOException {
        FakeRequest request = new FakeRequest();
        assertThat(builder.required(false).build().decide(request)).isInstanceOf(Decision.PassThrough.class);
        assertThat(request.bodyReads).isZero();
        assertThat(store.calls).isZero();
    }

    /** Line 6. */
    @Test
    void aMalformedKeyIsRefusedBeforeBodyAndStore() throws IOException {
        for (String[] lines : new String[][] {{""}, {"a b"}, {"a", "a"}, {"\"a"}, {"\u00e9"}, {"x".repeat(256)}}) {
            FakeRequest request = FakeRequest.withKey(lines);
            assertProblem(builder.required(false).build().decide(request), Problem.KEY_INVALID, 400);
            assertThat(request.bodyReads).isZero();
        }
        assertThat(store.calls).isZero();
    }

    /** Line 67. */
    @Test
    void aBodyOverTheLimitIsRefusedBeforeTheStore() throws IOException {
        engine = builder.maxRequestBytes(10).build();
        assertThat(engine.decide(FakeRequest.withKey("a").body("0123456789"))).isInstanceOf(Decision.Proceed.class);
        int calls = store.calls;
        assertProblem(engine.decide(FakeRequest.withKey("b").body("01234567890")), Problem.BODY_TOO_LARGE, 413);
        assertThat(store.calls).isEqualTo(calls);
    }

    /** Lines 20 and 21. */
    @Test
    void aRepetitionGetsTheFirstAnswerMarked() throws IOException {
        assertThat(engine.finish(claimed("k"), CREATED)).isEmpty();
        StoredResponse replay = responded(engine.decide(FakeRequest.withKey("\"k\"")));
        assertThat(replay).isEqualTo(CREATED.with(new Header("Idempotent-Replayed", "true")));
        assertThat(events).containsExactly(Event.CLAIMED, Event.RECORDED, Event.REPLAYED);
    }

    /** Line 27. */
    @Test
    void mismatchWinsOverInFlightAndCompleted() throws IOException {
        Lease lease = claimed("k");
        assertProblem(engine.decide(FakeRequest.withKey("k").path("/x")), Problem.MISMATCH, 422);
        engine.finish(lease, CREATED);
        assertProblem(engine.decide(FakeRequest.withKey("k").path("/x")), Problem.MISMATCH, 422);
        clock.tick(Duration.ofHours(1));
        assertThat(responded(engine.decide(FakeRequest.withKey("k"))).status()).isEqualTo(201);
    }

    /** Line 29. */
    @Test
    void aRequestInFlightIsTold() throws IOException {
        claimed("k");
        StoredResponse conflict = responded(engine.decide(FakeRequest.withKey("k")));
        assertThat(conflict.header("Retry-After")).contains("1");
        assertProblem(new Decision.Respond(conflict), Problem.IN_PROGRESS, 409);
    }

    /** Line 30. */
    @Test
    void statusesCanBeOthersAndTheDocumentSaysSo() throws IOException {
        engine = builder.conflictStatus(423)
                .mismatchStatus(409)
                .retryAfter(Duration.ofSeconds(7))
                .build();
        claimed("k");
        StoredResponse conflict = responded(engine.decide(FakeRequest.withKey("k")));
        assertProblem(new Decision.Respond(conflict), Problem.IN_PROGRESS, 423);
        assertThat(conflict.header("retry-after")).contains("7");
        assertProblem(engine.decide(FakeRequest.withKey("k").path("/x")), Problem.MISMATCH, 409);
    }

    /** Line 10. */
    @Test
    void callersNeverMeet() throws IOException {
        engine.finish(claimed("k"), CREATED);
        for (String caller : new String[] {"alice", "bob", "", "a:"}) {
            assertThat(engine.decide(FakeRequest.withKey("k").caller(caller))).isInstanceOf(Decision.Proceed.class);
        }
        assertThat(responded(engine.decide(FakeRequest.withKey("k"))).status()).isEqualTo(201);
    }

    /** Lines 31 and 32. */
    @Test
    void aStoreWhoseEffectsStandKeepsWhatIsAmbiguous() throws IOException {
        for (int status : new int[] {200, 201, 204, 302, 400, 402, 404, 409, 422, 500, 502, 504}) {
            assertThat(keptAfter(status)).as("%s", status).isTrue();
        }
        for (int status : new int[] {401, 403, 408, 425, 429, 503}) {
            assertThat(keptAfter(status)).as("%s", status).isFalse();
        }
    }

    /** Line 32. */
    @Test
    void aStoreThatUndoesEffectsFreesTheKeyOfFailures() throws IOException {
        store.transactional = true;
        engine = builder.build();
        for (int status : new int[] {200, 302, 402, 422}) {
            assertThat(keptAfter(status)).as("%s", status).isTrue();
        }
        for (int status : new int[] {401, 403, 408, 425, 429, 500, 502, 503, 504}) {
            assertThat(keptAfter(status)).as("%s", status).isFalse();
        }
    }

    /** Line 33, case 2: throwing is not doing nothing. */
    @Test
    void anExceptionIsKeptUnlessEffectsAreUndone() throws IOException {
        engine.fail(claimed("k"), new IllegalStateException());
        StoredResponse replay = responded(engine.decide(FakeRequest.withKey("k")));
        assertThat(replay.status()).isEqualTo(500);
        assertThat(replay.errorMessage()).contains("");
        store.transactional = true;
        engine = builder.build();
        engine.fail(claimed("l"), new IllegalStateException());
        assertThat(engine.decide(FakeRequest.withKey("l"))).isInstanceOf(Decision.Proceed.class);
    }

    /** Line 25. */
    @Test
    void whatBelongsToOneConnectionOrMomentIsNotKept() throws IOException {
        List<Header> headers = new ArrayList<>();
        for (String name : List.of(
                "Keep-Alive",
                "proxy-connection",
                "TE",
                "Trailer",
                "transfer-encoding",
                "Upgrade",
                "Date",
                "Server",
                "Age",
                "Content-Length",
                "Set-Cookie",
                "X-Hop",
                "X-Kept")) {
            headers.add(new Header(name, "1"));
        }
        headers.add(new Header("Connection", "close, x-hop"));
        engine.finish(claimed("k"), StoredResponse.of(200, headers, Bytes.EMPTY));
        assertThat(responded(engine.decide(FakeRequest.withKey("k"))).fields())
                .extracting(Header::name)
                .containsExactly("X-Kept", "Idempotent-Replayed");
        engine = builder.keepCookies(true).build();
        engine.finish(claimed("l"), StoredResponse.of(200, headers, Bytes.EMPTY));
        assertThat(responded(engine.decide(FakeRequest.withKey("l"))).header("Set-Cookie"))
                .isPresent();
    }

    /** Line 56, case 8. */
    @Test
    void aTombstoneIsNeverExecutedAgain() throws IOException {
        engine.finish(claimed("k"), StoredResponse.tombstone(200));
        assertProblem(engine.decide(FakeRequest.withKey("k")), Problem.RESPONSE_NOT_REPLAYABLE, 409);
        assertThat(events).endsWith(Event.NOT_REPLAYABLE);
    }

    /** Line 37. */
    @Test
    void anUnknownOutcomeIsRefusedUntilItExpires() throws IOException {
        claimed("k");
        clock.tick(Duration.ofSeconds(30));
        assertProblem(engine.decide(FakeRequest.withKey("k")), Problem.OUTCOME_UNKNOWN, 409);
        clock.tick(Duration.ofHours(24).minusSeconds(31));
        assertProblem(engine.decide(FakeRequest.withKey("k")), Problem.OUTCOME_UNKNOWN, 409);
        clock.tick(Duration.ofSeconds(1));
        assertThat(engine.decide(FakeRequest.withKey("k"))).isInstanceOf(Decision.Proceed.class);
    }

    /** Lines 38 and 39. */
    @Test
    void rerunTakesOverAndTheFirstOwnerIsOut() throws IOException {
        engine = builder.unknownOutcome(UnknownOutcome.rerun()).build();
        Lease first = claimed("k");
        clock.tick(Duration.ofSeconds(30));
        Lease second = claimed("k");
        assertThat(second.attempt()).isEqualTo(2);
        assertThat(events).endsWith(Event.TAKEN_OVER);
        Optional<StoredResponse> instead = engine.finish(first, CREATED);
        assertProblem(new Decision.Respond(instead.orElseThrow()), Problem.IN_PROGRESS, 409);
        engine.release(first);
        assertThat(events).endsWith(Event.CLAIM_LOST);
        assertProblem(engine.decide(FakeRequest.withKey("k")), Problem.IN_PROGRESS, 409);
        assertThat(engine.finish(second, CREATED)).isEmpty();
    }

    /** The new owner may have succeeded and its client know of it: "not now" from the old one would contradict that. */
    @Test
    void anAnswerThatFreesTheKeyIsNotSentOnceTheClaimIsLost() throws IOException {
        engine = builder.unknownOutcome(UnknownOutcome.rerun()).build();
        Lease first = claimed("k");
        clock.tick(Duration.ofSeconds(30));
        Lease second = claimed("k");
        assertThat(engine.finish(second, CREATED)).isEmpty();

        StoredResponse busy = StoredResponse.of(503, List.of(), Bytes.EMPTY);
        Optional<StoredResponse> instead = engine.finish(first, busy);

        assertProblem(new Decision.Respond(instead.orElseThrow()), Problem.IN_PROGRESS, 409);
        assertThat(events).endsWith(Event.CLAIM_LOST);
        assertThat(responded(engine.decide(FakeRequest.withKey("k"))).status()).isEqualTo(201);
    }

    @Test
    void reconciliationDecidesByTheApplicationsBooks() throws IOException {
        List<Function<Claim.OutcomeUnknown, Finding>> findings = new ArrayList<>();
        engine = builder.unknownOutcome(
                        UnknownOutcome.reconcile(unknown -> findings.remove(0).apply(unknown)))
                .build();
        claimed("k");
        clock.tick(Duration.ofSeconds(30));

        findings.add(unknown -> Finding.stillUnknown());
        assertProblem(engine.decide(FakeRequest.withKey("k")), Problem.OUTCOME_UNKNOWN, 409);
        findings.add(unknown -> {
            throw new IllegalStateException("books closed");
        });
        assertProblem(engine.decide(FakeRequest.withKey("k")), Problem.OUTCOME_UNKNOWN, 409);
        findings.add(unknown -> Finding.notExecuted());
        assertThat(claimed("k").attempt()).isEqualTo(2);

        clock.tick(Duration.ofSeconds(30));
        findings.add(unknown -> Finding.executed(CREATED));
        assertThat(responded(engine.decide(FakeRequest.withKey("k"))).status()).isEqualTo(201);
        assertThat(responded(engine.decide(FakeRequest.withKey("k"))).status()).isEqualTo(201);
    }

    /** Line 42. */
    @Test
    void aStoreThatIsAwayRefusesUnlessToldOtherwise() throws IOException {
        store.away = true;
        StoredResponse refusal = responded(engine.decide(FakeRequest.withKey("k")));
        assertProblem(new Decision.Respond(refusal), Problem.STORE_UNAVAILABLE, 503);
        assertThat(refusal.header("Retry-After")).contains("1");
        assertThat(builder.failOpen(true).build().decide(FakeRequest.withKey("k")))
                .isInstanceOf(Decision.PassThrough.class);
        assertThat(events).containsExactly(Event.STORE_UNAVAILABLE, Event.STORE_UNAVAILABLE);
    }

    @Test
    void anAnswerThatCannotBeRecordedGoesOutOnlyWhereItsEffectsStand() throws IOException {
        Lease lease = claimed("k");
        store.away = true;
        assertThat(engine.finish(lease, CREATED)).isEmpty();
        store.transactional = true;
        engine = builder.build();
        StoredResponse instead = engine.finish(lease, CREATED).orElseThrow();
        assertProblem(new Decision.Respond(instead), Problem.STORE_UNAVAILABLE, 503);
        engine.release(lease);
        engine.fail(lease, new IllegalStateException());
    }

    /** Case 20. */
    @Test
    void shadowModeReportsAndEnforcesNothing() throws IOException {
        engine = builder.shadow(true).maxRequestBytes(1).build();
        assertThat(engine.decide(new FakeRequest())).isInstanceOf(Decision.PassThrough.class);
        assertThat(engine.decide(FakeRequest.withKey("a b"))).isInstanceOf(Decision.PassThrough.class);
        Lease lease = ((Decision.Proceed) engine.decide(FakeRequest.withKey("k").body("long"))).lease();
        engine.finish(lease, CREATED);
        assertThat(engine.decide(FakeRequest.withKey("k").body("long"))).isInstanceOf(Decision.PassThrough.class);
        assertThat(engine.decide(FakeRequest.withKey("k").body("other"))).isInstanceOf(Decision.PassThrough.class);
        store.away = true;
        assertThat(engine.decide(FakeRequest.withKey("k"))).isInstanceOf(Decision.PassThrough.class);
        assertThat(events)
                .containsExactly(
                        Event.KEY_MISSING,
                        Event.KEY_INVALID,
                        Event.CLAIMED,
                        Event.RECORDED,
                        Event.REPLAYED,
                        Event.MISMATCHED,
                        Event.STORE_UNAVAILABLE);
    }

    @Test
    void aListenerThatThrowsChangesNothing() throws IOException {
        engine = builder.listener((event, key, cause) -> {
                    throw new IllegalStateException();
                })
                .build();
        assertThat(engine.finish(claimed("k"), CREATED)).isEmpty();
        assertThat(responded(engine.decide(FakeRequest.withKey("k"))).status()).isEqualTo(201);
    }

    @Test
    void settingsAreCheckedAndNeverClamped() {
        List<Runnable> wrong = List.of(
                () -> builder.keyHeader("a b").build(),
                () -> builder.keyHeader("K").replayHeader("").build(),
                () -> builder.replayHeader("R").methods().build(),
                () -> builder.methods("GET").build(),
                () -> builder.methods("POST").maxRequestBytes(-1).build(),
                () -> builder.maxRequestBytes(1).memoryBytes(-1).build(),
                () -> builder.memoryBytes(1).maxResponseBytes(-1).build(),
                () -> builder.maxResponseBytes(1).conflictStatus(200).build(),
                () -> builder.conflictStatus(409).mismatchStatus(500).build(),
                () -> builder.mismatchStatus(422)
                        .retryAfter(Duration.ofMillis(999))
                        .build(),
                () -> builder.retryAfter(Duration.ofSeconds(1))
                        .lease(Duration.ZERO)
                        .build(),
                () -> builder.lease(Duration.ofSeconds(1))
                        .retention(Duration.ofDays(3651))
                        .build(),
                () -> builder.retention(Duration.ofDays(1))
                        .fingerprintHeaders("a:b")
                        .build());
        for (Runnable setting : wrong) {
            assertThatIllegalArgumentException().isThrownBy(setting::run);
        }
    }

    @Test
    void anEngineDerivedFromAnotherLeavesThatAsItWas() throws IOException {
        Idempotency other =
                engine.toBuilder().required(false).keyHeader("X-Key").build();
        assertThat(other.decide(new FakeRequest())).isInstanceOf(Decision.PassThrough.class);
        assertProblem(engine.decide(new FakeRequest()), Problem.KEY_MISSING, 400);
    }

    /** A 503 frees the key if the handler has given it; whoever timed it out can't say that it did nothing. */
    @Test
    void anAnswerOfSomeoneElseThanTheHandlerIsKeptUnlessItsEffectsAreUndone() throws IOException {
        StoredResponse timeout = StoredResponse.of(503, List.of(), Bytes.EMPTY);
        assertThat(engine.finish(claimed("k"), timeout)).isEmpty();
        assertThat(engine.finishDetached(claimed("k"), timeout)).isEmpty();
        assertThat(responded(engine.decide(FakeRequest.withKey("k"))).status()).isEqualTo(503);
        store.transactional = true;
        engine = builder.build();
        assertThat(engine.isTransactional()).isTrue();
        assertThat(engine.finishDetached(claimed("l"), timeout)).isEmpty();
        claimed("l");
    }

    private boolean keptAfter(int status) throws IOException {
        String key = "s" + status + store.transactional;
        assertThat(engine.finish(claimed(key), StoredResponse.of(status, List.of(), Bytes.EMPTY)))
                .isEmpty();
        return engine.decide(FakeRequest.withKey(key)) instanceof Decision.Respond;
    }

    private Lease claimed(String key) throws IOException {
        Decision decision = engine.decide(FakeRequest.withKey(key));
        assertThat(decision).isInstanceOf(Decision.Proceed.class);
        return ((Decision.Proceed) decision).lease();
    }

    private static StoredResponse responded(Decision decision) {
        assertThat(decision).isInstanceOf(Decision.Respond.class);
        return ((Decision.Respond) decision).response();
    }

    /** RFC 9457: valid JSON whose members say the same as the status line. */
    private static AbstractStringAssert<?> assertProblem(Decision decision, Problem problem, int status) {
        StoredResponse response = responded(decision);
        assertThat(response.status()).isEqualTo(status);
        assertThat(response.header("Content-Type")).contains("application/problem+json");
        assertThat(response.header("Retry-After").isPresent()).isEqualTo(problem.isTransient());
        String text = response.body().orElseThrow().toUtf8();
        List<String> members = new ArrayList<>();
        try (JsonParser parser = new JsonFactory().createParser(ObjectReadContext.empty(), text)) {
            for (JsonToken token = parser.nextToken(); token != null; token = parser.nextToken()) {
                if (token.isScalarValue()) {
                    members.add(parser.currentName() + "=" + parser.getString());
                }
            }
        }
        assertThat(members).hasSize(4).contains("type=" + problem.type(), "status=" + status);
        assertThat(problem.type().isAbsolute()).isTrue();
        return assertThat(text);
    }
}
