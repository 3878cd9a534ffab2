// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the program says if it can't start: one line on standard error, and status 2. */
class StartupTest {

    @TempDir
    private Path directory;

    private void assertRefused(String line, Map<String, String> environment) throws Exception {
        try (ApiProcess api = ApiProcess.launch(directory, environment)) {
            assertThat(api.status()).as(api.err()).isEqualTo(2);
            assertThat(api.err().lines()).singleElement().asString().matches("payments-api: " + line);
            assertThat(api.out()).isEmpty();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "PORT, http",
        "IDEMPOTENCY_LEASE, 30s",
        "IDEMPOTENCY_RETENTION, -PT1H",
        "DATABASE_URL, postgres://localhost/payments",
        "KAFKA_BOOTSTRAP_SERVERS, localhost",
    })
    void aWrongSetting(String name, String value) throws Exception {
        assertRefused(name + " must be .*", Map.of(name, value, "DATA_DIR", "never-made"));
        assertThat(Path.of("never-made")).doesNotExist();
    }

    @Test
    void aPortInUse() throws Exception {
        try (ServerSocket taken = new ServerSocket(0)) {
            assertRefused(
                    "PORT " + taken.getLocalPort() + " can't be listened on: .*",
                    Map.of("PORT", Integer.toString(taken.getLocalPort()), "DATA_DIR", "never-made"));
        }
    }

    @Test
    void aDatabaseThatDoesNotAnswer() throws Exception {
        int nobodysPort = nobodysPort();

        assertRefused(
                "the database of DATABASE_URL can't be reached: .*" + nobodysPort + ".*",
                Map.of("PORT", "0", "DATABASE_URL", "jdbc:postgresql://localhost:" + nobodysPort + "/payments"));
    }

    @Test
    void aDatabaseThatSaysNothing() throws Exception {
        try (ServerSocket silent = new ServerSocket(0)) {
            assertRefused(
                    "the database of DATABASE_URL can't be reached: .*",
                    Map.of(
                            "PORT",
                            "0",
                            "DATABASE_URL",
                            "jdbc:postgresql://localhost:" + silent.getLocalPort() + "/payments"));
        }
    }

    @Test
    void aDataDirectoryThatIsAFile() throws Exception {
        Path file = Files.createFile(directory.resolve("file"));

        assertRefused("DATA_DIR " + file + " can't be used: .*", Map.of("PORT", "0", "DATA_DIR", file.toString()));
    }

    private static int nobodysPort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }
}
