// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.restassured.response.Response;
import java.io.IOException;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.idemkey.example.Settings.DatabaseAddress;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The program as its operator knows it: with its own database, stopped, killed, and started again on its data. */
class RestartTest {

    @TempDir
    private static Path outputs;

    /** The same for all tests, so that the server's programs are unpacked once. */
    @TempDir
    private static Path data;

    @AfterAll
    static void nothingGoesOnRunning() throws Exception {
        LeftoverServer.stop(data.toRealPath().resolve(Files.readString(data.resolve("cluster"))));
    }

    private static Response pay(ApiProcess api, String key, String source, String reference) {
        return api.alice()
                .header("Idempotency-Key", key)
                .contentType("application/json")
                .body(Orders.of(source, reference))
                .post("/payments");
    }

    private static Response payments(ApiProcess api, String reference) {
        return api.alice().queryParam("reference", reference).get("/payments");
    }

    private static void assertReplayed(Response first, Response again) {
        assertThat(again.getHeader("Idempotent-Replayed")).isEqualTo("true");
        assertThat(again.getStatusCode()).isEqualTo(first.getStatusCode());
        assertThat(again.getHeader("Location")).isEqualTo(first.getHeader("Location"));
        assertThat(again.asByteArray()).isEqualTo(first.asByteArray());
    }

    @Test
    void paymentsAndAnswersSurviveAStop() throws Exception {
        String key = Orders.newKey();
        String reference = Orders.newReference();
        Response first;
        try (ApiProcess api = ApiProcess.start(outputs, data)) {
            first = pay(api, key, "tok_visa", reference);
            assertThat(first.getStatusCode()).isEqualTo(201);
            api.terminate();
            assertThat(api.status()).isEqualTo(143);
            assertThat(api.err()).isEmpty();
        }

        try (ApiProcess api = ApiProcess.start(outputs, data)) {
            assertReplayed(first, pay(api, key, "tok_visa", reference));
            assertThat(payments(api, reference).<List<String>>path("id")).hasSize(1);
        }
    }

    /** The orphaned server of the killed process is stopped on the way. */
    @Test
    void paymentsAndAnswersSurviveAKill() throws Exception {
        String key = Orders.newKey();
        String reference = Orders.newReference();
        Response first;
        try (ApiProcess api = ApiProcess.start(outputs, data)) {
            first = pay(api, key, "tok_visa", reference);
            assertThat(first.getStatusCode()).isEqualTo(201);
            api.kill();
        }
        assertThat(postmaster()).isPresent();

        try (ApiProcess api = ApiProcess.start(outputs, data)) {
            assertReplayed(first, pay(api, key, "tok_visa", reference));
            assertThat(payments(api, reference).<List<String>>path("id")).hasSize(1);
        }
    }

    @Test
    void aStopLetsTheRequestsEndThatRun() throws Exception {
        String reference = Orders.newReference();
        try (ApiProcess api = ApiProcess.start(outputs, data)) {
            int port = api.port();
            CompletableFuture<Response> slow =
                    CompletableFuture.supplyAsync(() -> pay(api, Orders.newKey(), "tok_slow", reference));
            awaitCharge(reference);

            api.terminate();

            Response answer = slow.get(1, TimeUnit.MINUTES);
            assertThat(answer.getStatusCode()).isEqualTo(201);
            assertThat(api.status()).isEqualTo(143);
            assertThat(api.err()).isEmpty();
            assertThat(isListening(port)).isFalse();
        }
        assertThat(postmaster()).isEmpty();
    }

    @Test
    void aSecondProcessOnTheSameDataIsRefusedAndTheFirstGoesOn() throws Exception {
        try (ApiProcess first = ApiProcess.start(outputs, data)) {
            try (ApiProcess second = ApiProcess.launch(outputs, Map.of("PORT", "0", "DATA_DIR", data.toString()))) {
                assertThat(second.status()).isEqualTo(2);
                assertThat(second.err().lines())
                        .singleElement()
                        .asString()
                        .endsWith("is in use by another payments-api");
            }
            assertThat(first.alice().get("/health").getStatusCode()).isEqualTo(200);
        }
    }

    @Test
    void nobodyElseMayWriteWhereTheProgramsAre() throws Exception {
        try (ApiProcess api = ApiProcess.start(outputs, data)) {
            assertThat(api.alice().get("/health").getStatusCode()).isEqualTo(200);
            assertThat(Files.getPosixFilePermissions(data.resolve("binaries")))
                    .doesNotContain(PosixFilePermission.GROUP_WRITE, PosixFilePermission.OTHERS_WRITE);
        }
    }

    @Test
    void programsThatWereHalfUnpackedAreUnpackedAgain() throws Exception {
        ApiProcess.start(outputs, data).close();
        try (Stream<Path> versions = Files.list(data.resolve("binaries"))) {
            Path version = versions.findFirst().orElseThrow();
            Files.delete(version.resolve(".exists"));
            Files.delete(version.resolve("bin/initdb"));
        }

        try (ApiProcess api = ApiProcess.start(outputs, data)) {
            assertThat(api.alice().get("/health").getStatusCode()).isEqualTo(200);
        }
    }

    /** What the server's own file says: its number in the first line, its port in the fourth. */
    private static List<String> postmasterFile() throws IOException {
        Path file = data.resolve(Files.readString(data.resolve("cluster"))).resolve("postmaster.pid");
        return Files.exists(file) ? Files.readAllLines(file) : List.of();
    }

    private static Optional<ProcessHandle> postmaster() throws IOException {
        List<String> lines = postmasterFile();
        return lines.isEmpty() ? Optional.empty() : ProcessHandle.of(Long.parseLong(lines.get(0)));
    }

    private static DatabaseAddress database() throws IOException {
        return new DatabaseAddress(
                "jdbc:postgresql://localhost:" + postmasterFile().get(3) + "/postgres", "postgres", "");
    }

    private static long charges(String reference) throws IOException {
        return TestDatabase.at(database()).count("SELECT count(*) FROM gateway_charge WHERE reference = ?", reference);
    }

    /** The gateway has charged, so the handler is in the middle of its work. */
    private static void awaitCharge(String reference) {
        Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> charges(reference) == 1);
    }

    /** Kills the program in the middle of a slow payment: the gateway has charged, and nothing else is done. */
    private static void killInMidPayment(String key, String reference, String... settings) throws Exception {
        try (ApiProcess api = ApiProcess.start(StuckApi.class, outputs, data, settings)) {
            CompletableFuture<Response> cut = CompletableFuture.supplyAsync(() -> pay(api, key, "tok_slow", reference));
            awaitCharge(reference);
            api.kill();
            assertThatThrownBy(() -> cut.get(1, TimeUnit.MINUTES)).isInstanceOf(ExecutionException.class);
        }
    }

    /** Lines 37 and 40: no lease, no unknown outcome; the key is free at once. */
    @Test
    void aKillInMidPaymentFreesTheKeyAtOnce() throws Exception {
        String key = Orders.newKey();
        String reference = Orders.newReference();
        killInMidPayment(key, reference);

        try (ApiProcess api = ApiProcess.start(StuckApi.class, outputs, data)) {
            Response again = pay(api, key, "tok_slow", reference);

            assertPaidOnce(api, again, reference);
            assertReplayed(again, pay(api, key, "tok_slow", reference));
        }
    }

    @Test
    void aKillInMidPaymentFreesAJoinedLeaseWhenItLapses() throws Exception {
        String[] joined = {"IDEMPOTENCY_MODE", "joined-lease", "IDEMPOTENCY_LEASE", "PT1H"};
        String key = Orders.newKey();
        String reference = Orders.newReference();
        killInMidPayment(key, reference, joined);

        try (ApiProcess api = ApiProcess.start(StuckApi.class, outputs, data, joined)) {
            Response early = pay(api, key, "tok_slow", reference);
            assertThat(early.getStatusCode()).isEqualTo(409);
            assertThat(early.<String>path("type")).endsWith("/in-progress");
            lapse(key);

            Response again = pay(api, key, "tok_slow", reference);

            assertPaidOnce(api, again, reference);
            assertReplayed(again, pay(api, key, "tok_slow", reference));
        }
    }

    /** Line 37. */
    @Test
    void aKillInMidPaymentLeavesALeasesOutcomeUnknown() throws Exception {
        String[] lease = {"IDEMPOTENCY_MODE", "lease", "IDEMPOTENCY_LEASE", "PT1H"};
        String key = Orders.newKey();
        String reference = Orders.newReference();
        killInMidPayment(key, reference, lease);

        try (ApiProcess api = ApiProcess.start(StuckApi.class, outputs, data, lease)) {
            lapse(key);

            Response again = pay(api, key, "tok_slow", reference);

            assertThat(again.getStatusCode()).isEqualTo(409);
            assertThat(again.<String>path("type")).endsWith("/outcome-unknown");
            assertThat(payments(api, reference).<List<String>>path("id")).isEmpty();
            assertThat(charges(reference)).isEqualTo(1);
        }
    }

    private static void assertPaidOnce(ApiProcess api, Response answer, String reference) throws IOException {
        assertThat(answer.getStatusCode()).as(answer.asString()).isEqualTo(201);
        assertThat(answer.getHeader("Idempotent-Replayed")).isNull();
        assertThat(payments(api, reference).<List<String>>path("id")).containsExactly(answer.<String>path("id"));
        assertThat(charges(reference)).isEqualTo(1);
    }

    private static void lapse(String key) throws IOException {
        assertThat(TestDatabase.at(database())
                        .update("UPDATE idempotency_key SET lease_until = now() WHERE key = ?", key))
                .isEqualTo(1);
    }

    private static boolean isListening(int port) {
        try (Socket socket = new Socket("localhost", port)) {
            return socket.isConnected();
        } catch (IOException e) {
            return false;
        }
    }
}
