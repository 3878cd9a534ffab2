// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Many clients who send the same request in the same moment. */
final class Crowd implements AutoCloseable {

    private final int size;
    private final RunningApi api;
    private final ExecutorService threads;
    private final HttpClient http =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    Crowd(int size, RunningApi api) {
        this.size = size;
        this.api = api;
        this.threads = Executors.newFixedThreadPool(size);
    }

    /** Lets all of them pay under one key, each on a thread of its own, and answers what they got. */
    List<HttpResponse<String>> pay(String key, String order) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(api.url("/payments")))
                .header("Authorization", "Bearer sk_demo_alice")
                .header("Idempotency-Key", key)
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString(order))
                .build();
        CyclicBarrier barrier = new CyclicBarrier(size);
        List<Future<HttpResponse<String>>> asked = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            asked.add(threads.submit(() -> {
                barrier.await(1, TimeUnit.MINUTES);
                return http.send(request, BodyHandlers.ofString());
            }));
        }
        List<HttpResponse<String>> answers = new ArrayList<>();
        for (Future<HttpResponse<String>> answer : asked) {
            answers.add(answer.get(2, TimeUnit.MINUTES));
        }
        return answers;
    }

    @Override
    public void close() {
        threads.shutdownNow();
    }
}
