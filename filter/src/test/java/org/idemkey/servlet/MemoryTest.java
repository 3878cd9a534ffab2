// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.ProcessBuilder.Redirect;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.commons.codec.digest.DigestUtils;
import org.idemkey.Problem;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is large takes no memory: the server has 256 MiB of heap, and is asked for far more than that at once. */
class MemoryTest {

    private Process process;
    private URI uri;
    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    @BeforeEach
    void startServer() throws Exception {
        process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx256m",
                        "-XX:+ExitOnOutOfMemoryError",
                        "-Didemkey.container=" + System.getProperty("idemkey.container", "TomcatServer"),
                        "-cp",
                        System.getProperty("java.class.path"),
                        SmallHeapServer.class.getName())
                .redirectError(Redirect.INHERIT)
                .start();
        BufferedReader out = new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8));
        uri = URI.create("http://localhost:" + out.readLine());
    }

    @AfterEach
    void endServer() throws Exception {
        process.getOutputStream().close();
        if (!process.waitFor(1, TimeUnit.MINUTES)) {
            process.destroyForcibly();
        }
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(uri.resolve(path))
                .header("Idempotency-Key", UUID.randomUUID().toString());
    }

    @Test
    void sixtyFourUploadsOfTenMebibytesAtOnce() throws Exception {
        byte[] upload = new byte[10 << 20];
        new Random(1).nextBytes(upload);
        String hash = DigestUtils.sha256Hex(upload);
        List<CompletableFuture<HttpResponse<String>>> responses = new ArrayList<>();
        for (int i = 0; i < 64; i++) {
            HttpRequest request =
                    request("/upload").POST(BodyPublishers.ofByteArray(upload)).build();
            responses.add(client.sendAsync(request, BodyHandlers.ofString()));
        }
        for (CompletableFuture<HttpResponse<String>> response : responses) {
            assertThat(response.get(4, TimeUnit.MINUTES).body()).isEqualTo(hash);
        }
        assertThat(process.isAlive()).isTrue();
        await().untilAsserted(
                        () -> assertThat(OpenFiles.ofBodies(process.pid())).isEmpty());
    }

    @Test
    void fourDownloadsOfTwoHundredMebibytesAtOnce() throws Exception {
        List<CompletableFuture<Long>> lengths = new ArrayList<>();
        HttpRequest request = request("/download").POST(BodyPublishers.noBody()).build();
        lengths.add(download(request));
        for (int i = 0; i < 3; i++) {
            lengths.add(
                    download(request("/download").POST(BodyPublishers.noBody()).build()));
        }
        for (CompletableFuture<Long> length : lengths) {
            assertThat(length.get(4, TimeUnit.MINUTES)).isEqualTo(200L << 20);
        }
        assertThat(process.isAlive()).isTrue();
        HttpResponse<String> again = client.send(request, BodyHandlers.ofString());
        assertThat(again.statusCode()).isEqualTo(409);
        assertThat(again.body()).contains(Problem.RESPONSE_NOT_REPLAYABLE.type().toString());
    }

    private CompletableFuture<Long> download(HttpRequest request) {
        return client.sendAsync(request, BodyHandlers.ofInputStream()).thenApplyAsync(response -> {
            assertThat(response.statusCode()).isEqualTo(200);
            try (InputStream in = response.body()) {
                long length = 0;
                byte[] chunk = new byte[1 << 16];
                for (int read = in.read(chunk); read >= 0; read = in.read(chunk)) {
                    length += read;
                }
                return length;
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        });
    }
}
