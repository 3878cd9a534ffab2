// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;

import jakarta.servlet.FilterConfig;
import jakarta.servlet.ServletContext;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpFilter;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.idemkey.IdempotencyStore;
import org.idemkey.Problem;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A filter that the container makes, as it does from a web.xml. */
class InitParametersTest extends ServletTest {

    private void serve(Map<String, String> initParameters) throws Exception {
        serve(
                new WebApp()
                        .with(context -> context.setAttribute(IdempotencyStore.class.getName(), store))
                        .filter("idempotency", IdempotencyFilter.class, initParameters),
                (request, response) -> response.getWriter().print("ran"));
    }

    private RawResponse keyed(String field, String body) throws IOException {
        return send("PUT", "/handler", null, "application/json", body.getBytes(UTF_8), field);
    }

    @Test
    void everySettingHasAnInitParameter() throws Exception {
        serve(Map.ofEntries(
                Map.entry("keyHeader", "X-Request-Key"),
                Map.entry("strictKeys", "true"),
                Map.entry("required", "false"),
                Map.entry("methods", "PUT, PATCH"),
                Map.entry("lease", "PT1H"),
                Map.entry("retention", "P2D"),
                Map.entry("maxRequestBytes", "20"),
                Map.entry("memoryBytes", "10"),
                Map.entry("maxResponseBytes", "1000"),
                Map.entry("bodyMatching", "CANONICAL_JSON"),
                Map.entry("fingerprintHeaders", "X-Tenant,X-Version"),
                Map.entry("unknownOutcome", "rerun"),
                Map.entry("responsePolicy", "failuresUndone"),
                Map.entry("conflictStatus", "423"),
                Map.entry("mismatchStatus", "409"),
                Map.entry("retryAfter", "PT5S"),
                Map.entry("replayHeader", "X-Replayed"),
                Map.entry("keepCookies", "true"),
                Map.entry("failOpen", "true"),
                Map.entry("shadow", "false"),
                Map.entry("streamedTypes", "application/x-ndjson")));
        assertThat(post(newKey()).text()).isEqualTo("ran");
        assertThat(store.calls()).isZero();

        String key = "X-Request-Key: \"k\"";
        assertThat(keyed(key, "{\"a\":1,\"b\":2}").text()).isEqualTo("ran");
        assertThat(keyed(key, "{\"b\":2, \"a\":1}").headers("X-Replayed")).containsExactly("true");
        assertThat(keyed(key, "{\"b\":2, \"a\":2}").status()).isEqualTo(409);
        assertThat(keyed(key, "{\"b\":2, \"a\":1, \"c\":3}").status()).isEqualTo(413);
        assertProblem(keyed("X-Request-Key: k", "{}"), Problem.KEY_INVALID);
        store.goAway();
        assertThat(keyed("X-Request-Key: \"l\"", "{}").text()).isEqualTo("ran");
    }

    @Test
    void withoutParametersTheDefaultsHold() throws Exception {
        serve(Map.of());
        String key = newKey();
        assertReplayOf(post(key), post(key));
    }

    @ParameterizedTest
    @CsvSource({
        "retention, 24h, init parameter retention can't be 24h",
        "lease, PT0S, lease must be",
        "required, yes, init parameter required can't be yes",
        "maxRequestBytes, 1MB, init parameter maxRequestBytes can't be 1MB",
        "maxRequestBytes, -1, maxRequestBytes must be 0 or more",
        "methods, GET, methods must not hold the safe method GET",
        "methods, '', methods must not be empty",
        "bodyMatching, json, init parameter bodyMatching can't be json",
        "unknownOutcome, retry, init parameter unknownOutcome can't be retry",
        "responsePolicy, all, init parameter responsePolicy can't be all",
        "keyHeader, Bad Name, keyHeader must be a header name",
        "retension, PT24H, 'init parameters without a meaning: retension'",
    })
    void aWrongParameterFailsTheStartByName(String name, String value, String message) throws Exception {
        assertThat(failure(new WebApp().with(this::withStore), Map.of(name, value)))
                .isInstanceOf(ServletException.class)
                .hasMessageStartingWith("filter idempotency: ")
                .hasMessageContaining(message);
    }

    @Test
    void withoutAStoreTheFilterDoesNotStart() throws Exception {
        assertThat(failure(new WebApp(), Map.of()))
                .isInstanceOf(ServletException.class)
                .hasMessageContaining("there is no store");
    }

    private void withStore(ServletContext context) {
        context.setAttribute(IdempotencyStore.class.getName(), store);
    }

    private Throwable failure(WebApp app, Map<String, String> initParameters) throws Exception {
        start(app.filter("idempotency", Watched.class, initParameters));
        return Watched.FAILURE.get();
    }

    /** Starts in any case, and tells how the filter proper failed. */
    public static final class Watched extends HttpFilter {

        private static final long serialVersionUID = 1L;

        private static final AtomicReference<Throwable> FAILURE = new AtomicReference<>();

        @Override
        public void init(FilterConfig config) {
            FAILURE.set(null);
            try {
                new IdempotencyFilter().init(config);
            } catch (ServletException e) {
                FAILURE.set(e);
            }
        }
    }

    @Test
    void aWrongParameterFailsTheStart() {
        assertThatException().isThrownBy(() -> serve(Map.of("retention", "one day")));
    }

    /** {@link TestStoreProvider} is on the test class path, as a store's own provider would be. */
    @Test
    void aProviderMakesTheStoreFromTheSameParametersAndTheFilterClosesIt() throws Exception {
        serve(
                new WebApp().filter("own", IdempotencyFilter.class, Map.of("testStore", "memory", "required", "false")),
                (request, response) -> response.getWriter().print("ran"));
        TestStoreProvider.TestStore made = TestStoreProvider.last();
        String key = newKey();
        assertReplayOf(post(key), post(key));
        assertThat(made.isClosed()).isFalse();
        stop();
        assertThat(made.isClosed()).isTrue();
    }

    @Test
    void aStoreIsClosedIfTheFilterDoesNotStartAfterAll() throws Exception {
        assertThat(failure(new WebApp(), Map.of("testStore", "memory", "lease", "never")))
                .hasMessageContaining("lease");
        assertThat(TestStoreProvider.last().isClosed()).isTrue();
    }

    @Test
    void aProvidersComplaintFailsTheStart() throws Exception {
        assertThat(failure(new WebApp(), Map.of("testStore", "pigeon")))
                .hasMessage("filter idempotency: testStore can't be pigeon");
    }

    /** Only what the provider asks for is meant for it. */
    @Test
    void aParameterThatNoProviderAsksForIsMeaningless() throws Exception {
        assertThat(failure(new WebApp(), Map.of("testStore", "memory", "testStor", "memory")))
                .hasMessageContaining("init parameters without a meaning: testStor");
    }
}
