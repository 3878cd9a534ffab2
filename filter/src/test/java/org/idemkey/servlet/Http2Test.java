// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import jakarta.servlet.AsyncContext;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import org.idemkey.Problem;
import org.junit.jupiter.api.Test;

/** Line 55: HTTP/2, over plain connections that began as HTTP/1.1. */
class Http2Test extends ServletTest {

    private final HttpClient client =
            HttpClient.newBuilder().version(Version.HTTP_2).build();

    private HttpResponse<byte[]> send(String method, String key, byte[] body) throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://localhost:" + port() + "/handler"))
                .method(method, BodyPublishers.ofByteArray(body))
                .header("Idempotency-Key", key)
                .header("Content-Type", "application/octet-stream")
                .build();
        HttpResponse<byte[]> response = client.send(request, BodyHandlers.ofByteArray());
        assertThat(response.version()).isEqualTo(Version.HTTP_2);
        return response;
    }

    /** A first request without a body changes the connection's protocol. */
    private void upgrade() throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://localhost:" + port() + "/handler"))
                .build();
        assertThat(client.send(request, BodyHandlers.discarding()).version()).isEqualTo(Version.HTTP_2);
        executions.set(0);
    }

    private static boolean isReplay(HttpResponse<?> response) {
        return response.headers().firstValue("Idempotent-Replayed").isPresent();
    }

    private void assertReplayed(byte[] body) throws IOException, InterruptedException {
        executions.set(0);
        String key = newKey();
        HttpResponse<byte[]> first = send("POST", key, body);
        HttpResponse<byte[]> again = send("POST", key, body);
        assertThat(isReplay(first)).isFalse();
        assertThat(isReplay(again)).isTrue();
        assertThat(again.statusCode()).isEqualTo(first.statusCode()).isEqualTo(201);
        assertThat(first.body()).isEqualTo(body);
        assertThat(again.body()).isEqualTo(body);
        assertThat(again.headers().allValues("X-Tag")).containsExactly("one", "two");
        assertThat(executions).hasValue(1);
    }

    @Test
    void answersAreReplayed() throws Exception {
        serve((request, response) -> {
            response.setStatus(201);
            response.addHeader("X-Tag", "one");
            response.addHeader("X-Tag", "two");
            request.getInputStream().transferTo(response.getOutputStream());
        });
        upgrade();
        for (int size : new int[] {0, 1, 10_000, 500_000}) {
            assertReplayed(new byte[size]);
        }
    }

    @Test
    void asynchronousAnswersAreReplayed() throws Exception {
        serve((request, response) -> {
            AsyncContext async = request.startAsync();
            async.start(() -> {
                response.setStatus(201);
                response.addHeader("X-Tag", "one");
                response.addHeader("X-Tag", "two");
                try {
                    async.getRequest().getInputStream().transferTo(response.getOutputStream());
                } catch (IOException e) {
                    throw new IllegalStateException(e);
                }
                async.complete();
            });
        });
        upgrade();
        assertReplayed(new byte[100_000]);
    }

    @Test
    void errorsWithoutContentAndLongAnswers() throws Exception {
        serve((request, response) -> {
            int length = request.getContentLength();
            if (length == 1) {
                response.setStatus(204);
            } else if (length == 2) {
                response.sendError(418);
            } else if (length == 3) {
                response.getOutputStream().write(new byte[3_000_000]);
            }
        });
        upgrade();
        for (int status : new int[] {204, 418}) {
            String key = newKey();
            byte[] body = new byte[status == 204 ? 1 : 2];
            assertThat(send("POST", key, body).statusCode()).isEqualTo(status);
            HttpResponse<byte[]> again = send("POST", key, body);
            assertThat(again.statusCode()).isEqualTo(status);
            assertThat(isReplay(again)).isTrue();
        }
        String key = newKey();
        assertThat(send("POST", key, new byte[3]).body()).hasSize(3_000_000);
        HttpResponse<byte[]> again = send("POST", key, new byte[3]);
        assertThat(again.statusCode()).isEqualTo(409);
        assertThat(new String(again.body(), UTF_8))
                .contains(Problem.RESPONSE_NOT_REPLAYABLE.type().toString());
    }
}
