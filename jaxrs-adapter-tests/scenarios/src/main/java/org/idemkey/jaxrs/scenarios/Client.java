// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.scenarios;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.zip.GZIPInputStream;

/** Sends requests, and shows answers as they came: nothing is decoded or followed. */
final class Client {

    private static final Duration PATIENCE = Duration.ofMinutes(2);

    private final HttpClient http = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(PATIENCE)
            .build();
    private final URI base;

    Client(URI base) {
        this.base = base;
    }

    static String newKey() {
        return UUID.randomUUID().toString();
    }

    HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(base.resolve(path)).timeout(PATIENCE);
    }

    Answer post(String path, String key) throws Exception {
        return post(path, key, "order");
    }

    Answer post(String path, String key, String body, String... headers) throws Exception {
        return send(post(path, key, "text/plain", body.getBytes(StandardCharsets.UTF_8), headers));
    }

    HttpRequest post(String path, String key, String type, byte[] body, String... headers) {
        HttpRequest.Builder builder = request(path)
                .header("Idempotency-Key", key)
                .header("Content-Type", type)
                .POST(BodyPublishers.ofByteArray(body));
        return headers.length == 0 ? builder.build() : builder.headers(headers).build();
    }

    Answer send(HttpRequest request) throws IOException, InterruptedException {
        return new Answer(http.send(request, BodyHandlers.ofByteArray()));
    }

    CompletableFuture<Answer> sendAsync(HttpRequest request) {
        return http.sendAsync(request, BodyHandlers.ofByteArray()).thenApply(Answer::new);
    }

    HttpResponse<java.io.InputStream> open(HttpRequest request) throws IOException, InterruptedException {
        return http.send(request, BodyHandlers.ofInputStream());
    }

    /** A response, whole. */
    record Answer(HttpResponse<byte[]> response) {

        int status() {
            return response.statusCode();
        }

        byte[] body() {
            return response.body();
        }

        String text() {
            return new String(response.body(), StandardCharsets.UTF_8);
        }

        String unzipped() {
            try (GZIPInputStream in = new GZIPInputStream(new ByteArrayInputStream(response.body()))) {
                return new String(in.readAllBytes(), StandardCharsets.UTF_8);
            } catch (IOException e) {
                throw new AssertionError("not gzip, or not once: " + text(), e);
            }
        }

        List<String> fields(String name) {
            return response.headers().allValues(name);
        }

        String field(String name) {
            return response.headers().firstValue(name).orElse("");
        }

        boolean isReplay() {
            return fields("Idempotent-Replayed").equals(List.of("true"));
        }

        /** The last segment of the problem's type; empty if it is none. */
        String problem() {
            if (!field("Content-Type").startsWith("application/problem+json")) {
                return "";
            }
            int at = text().indexOf("/problems/") + "/problems/".length();
            return text().substring(at, text().indexOf('"', at));
        }

        @Override
        public String toString() {
            return status() + " " + response.headers().map() + " " + text();
        }
    }
}
