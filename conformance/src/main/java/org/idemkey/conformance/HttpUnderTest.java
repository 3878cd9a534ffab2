// SPDX-License-Identifier: Apache-2.0
package org.idemkey.conformance;

import static io.restassured.config.EncoderConfig.encoderConfig;
import static io.restassured.config.RedirectConfig.redirectConfig;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.restassured.RestAssured;
import io.restassured.config.RestAssuredConfig;
import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import java.time.Duration;
import java.util.UUID;
import org.idemkey.Idempotency;
import org.idemkey.IdempotencyBuilder;
import org.idemkey.InMemoryIdempotencyStore;
import org.idemkey.Problem;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** The server that the scenarios are about, and the words that they speak in. */
abstract class HttpUnderTest {

    static final String KEY = "Idempotency-Key";
    static final String REPLAYED = "Idempotent-Replayed";

    private static final RestAssuredConfig AS_WRITTEN = RestAssuredConfig.config()
            .encoderConfig(encoderConfig().appendDefaultContentCharsetToContentTypeIfUndefined(false))
            .redirect(redirectConfig().followRedirects(false));

    final HttpHandlers handlers = new HttpHandlers();
    final CountingStore store = new CountingStore(new InMemoryIdempotencyStore());
    private @Nullable HttpTarget target;

    /**
     * Starts a server as {@link HttpTarget} describes it. Each test has one of its own, so that settings and counts are
     * its own too.
     *
     * @throws Exception if it doesn't start; that test has failed then
     */
    protected abstract HttpTarget start(Idempotency engine, HttpHandlers handlers) throws Exception;

    /**
     * Whether a client may have the 500 of an exception a moment before its claim has ended; false unless the server
     * leaves the adapter no choice.
     */
    protected boolean answersExceptionsFirst() {
        return false;
    }

    /** The handler's exception was answered, and its claim has ended, or is about to. */
    final void awaitEndOfClaim() {
        if (answersExceptionsFirst()) {
            await().atMost(Duration.ofMinutes(1)).until(() -> store.ended() == 1);
        }
        assertThat(store.ended()).isEqualTo(1);
    }

    @BeforeEach
    final void startWithDefaults() throws Exception {
        restart(settings());
    }

    @AfterEach
    final void stop() {
        handlers.endSlow();
        if (target != null) {
            target.close();
        }
    }

    /** Default settings, but for a lease that outlasts the slowest machine: the store in memory renews none. */
    final IdempotencyBuilder settings() {
        return Idempotency.builder(store).lease(Duration.ofHours(1));
    }

    final void restart(IdempotencyBuilder settings) throws Exception {
        if (target != null) {
            target.close();
        }
        target = start(settings.build(), handlers);
    }

    final HttpTarget target() {
        return requireNonNull(target, "no server has been started");
    }

    static String newKey() {
        return UUID.randomUUID().toString();
    }

    final RequestSpecification request() {
        return RestAssured.given()
                .config(AS_WRITTEN)
                .baseUri(target().uri().toString())
                .urlEncodingEnabled(false);
    }

    final RequestSpecification json(String body) {
        return request().contentType("application/json").body(body);
    }

    final Response post(String key, String name, String body) {
        return json(body).header(KEY, key).post("/run/" + name);
    }

    static void assertProblem(Response response, Problem problem) {
        assertProblem(response, problem, problem.status());
    }

    static void assertProblem(Response response, Problem problem, int status) {
        assertThat(response.statusCode()).isEqualTo(status);
        assertThat(response.contentType()).startsWith("application/problem+json");
        assertThat(response.<String>path("type")).isEqualTo(problem.type().toString());
        assertThat(response.<Integer>path("status")).isEqualTo(status);
        assertThat(response.headers().hasHeaderWithName(REPLAYED)).isFalse();
    }

    /** The same answer, byte by byte, and marked. */
    static void assertReplayOf(Response first, Response again) {
        assertThat(again.header(REPLAYED)).isEqualTo("true");
        assertThat(first.headers().hasHeaderWithName(REPLAYED)).isFalse();
        assertThat(again.statusCode()).isEqualTo(first.statusCode());
        assertThat(again.contentType()).isEqualTo(first.contentType());
        assertThat(again.header("Location")).isEqualTo(first.header("Location"));
        assertThat(again.asByteArray()).isEqualTo(first.asByteArray());
    }
}
