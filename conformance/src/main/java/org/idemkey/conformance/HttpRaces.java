// SPDX-License-Identifier: Apache-2.0
package org.idemkey.conformance;

import static java.util.concurrent.TimeUnit.MINUTES;
import static org.assertj.core.api.Assertions.assertThat;

import io.restassured.response.Response;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.idemkey.Problem;
import org.junit.jupiter.api.Test;

/** What requests find that come while the first one with their key is at work. */
abstract class HttpRaces extends HttpRefusals {

    private static final int CLIENTS = 64;

    /** Lines 27 and 29. */
    @Test
    void aRequestInFlightIsAConflictAndAnotherRequestStillAMismatch() throws Exception {
        String key = newKey();
        CompletableFuture<Response> first = inFlight(key);

        Response duplicate = post(key, "slow", "{}");
        assertProblem(duplicate, Problem.IN_PROGRESS);
        assertRetryAfter(duplicate);
        assertMismatch(post(key, "slow", "{\"other\": true}"));

        handlers.endSlow();
        assertThat(first.get(1, MINUTES).statusCode()).isEqualTo(201);
        assertReplayOf(first.get(), post(key, "slow", "{}"));
        assertThat(handlers.executions()).isEqualTo(1);
    }

    /** Line 30. */
    @Test
    void theStatusForARequestInFlightIsConfigurable() throws Exception {
        restart(settings().conflictStatus(423));
        String key = newKey();
        CompletableFuture<Response> first = inFlight(key);

        assertProblem(post(key, "slow", "{}"), Problem.IN_PROGRESS, 423);

        handlers.endSlow();
        first.get(1, MINUTES);
    }

    private CompletableFuture<Response> inFlight(String key) throws InterruptedException {
        CompletableFuture<Response> first = CompletableFuture.supplyAsync(() -> post(key, "slow", "{}"));
        assertThat(handlers.awaitSlow()).isTrue();
        return first;
    }

    /** Line 28. */
    @Test
    void ofManyRequestsAtOnceOneRuns() throws Exception {
        int rounds = 10;
        // One for all rounds: a server may refuse more connections than it keeps open.
        HttpClient client =
                HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        for (int round = 1; round <= rounds; round++) {
            Set<String> answers = new TreeSet<>();
            int created = 0;
            for (HttpResponse<String> response : atOnce(client, newKey())) {
                assertThat(response.statusCode()).isIn(201, 409);
                if (response.statusCode() == 201) {
                    created++;
                    answers.add(response.body());
                }
            }
            assertThat(created).isPositive();
            assertThat(answers).containsExactly("count " + round);
        }
        assertThat(handlers.unguarded()).isEqualTo(rounds);
        assertThat(handlers.executions()).isEqualTo(rounds);
    }

    private List<HttpResponse<String>> atOnce(HttpClient client, String key) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(target().uri() + "/run/unguarded"))
                .header(KEY, key)
                .POST(BodyPublishers.ofString("{}"))
                .build();
        ExecutorService clients = Executors.newFixedThreadPool(CLIENTS);
        try {
            CountDownLatch start = new CountDownLatch(CLIENTS);
            List<Future<HttpResponse<String>>> responses = new ArrayList<>();
            for (int i = 0; i < CLIENTS; i++) {
                responses.add(clients.submit(() -> {
                    start.countDown();
                    start.await();
                    return client.send(request, BodyHandlers.ofString());
                }));
            }
            List<HttpResponse<String>> all = new ArrayList<>();
            for (Future<HttpResponse<String>> response : responses) {
                all.add(response.get(1, MINUTES));
            }
            return all;
        } finally {
            clients.shutdown();
        }
    }
}
