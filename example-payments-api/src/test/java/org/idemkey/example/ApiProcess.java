// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import static io.restassured.RestAssured.given;

import io.restassured.specification.RequestSpecification;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;

/** The program, as a process of its own that can be killed. Closing it kills it, if it still runs. */
final class ApiProcess implements AutoCloseable {

    private static final Pattern READY = Pattern.compile("ready at http://localhost:(\\d+)");

    private static final Duration PATIENCE = Duration.ofMinutes(2);

    private final Process process;
    private final Path out;
    private final Path err;

    private ApiProcess(Process process, Path out, Path err) {
        this.process = process;
        this.out = out;
        this.err = err;
    }

    /** Starts it with nothing in its environment but these, and without waiting for anything. */
    static ApiProcess launch(Path outputs, Map<String, String> environment) throws IOException {
        return launch(PaymentsApi.class, outputs, environment);
    }

    private static ApiProcess launch(Class<?> main, Path outputs, Map<String, String> environment) throws IOException {
        Path out = Files.createTempFile(outputs, "out", ".txt");
        Path err = Files.createTempFile(outputs, "err", ".txt");
        List<String> command = new ArrayList<>();
        command.add(ProcessHandle.current().info().command().orElse("java"));
        // Short lives don't repay the better compiler.
        command.addAll(
                List.of("-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"), main.getName()));
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectOutput(out.toFile()).redirectError(err.toFile());
        String path = builder.environment().get("PATH");
        builder.environment().clear();
        builder.environment().put("PATH", path);
        builder.environment().putAll(environment);
        return new ApiProcess(builder.start(), out, err);
    }

    /** Starts it on any free port with its data there, and waits until it is ready. */
    static ApiProcess start(Path outputs, Path data, String... settings) throws IOException {
        return start(PaymentsApi.class, outputs, data, settings);
    }

    /** The same with another main class, such as one with a gateway of its own. */
    static ApiProcess start(Class<?> main, Path outputs, Path data, String... settings) throws IOException {
        Map<String, String> environment = new HashMap<>(Map.of("PORT", "0", "DATA_DIR", data.toString()));
        for (int i = 0; i < settings.length; i += 2) {
            environment.put(settings[i], settings[i + 1]);
        }
        ApiProcess api = launch(main, outputs, environment);
        try {
            Awaitility.await()
                    .atMost(PATIENCE)
                    .until(() -> READY.matcher(api.out()).find() || !api.process.isAlive());
            api.port();
            return api;
        } catch (Throwable e) {
            api.close();
            throw e;
        }
    }

    int port() {
        Matcher ready = READY.matcher(out());
        if (!ready.find()) {
            throw new IllegalStateException("not ready: " + out() + err());
        }
        return Integer.parseInt(ready.group(1));
    }

    String out() {
        return read(out);
    }

    String err() {
        return read(err);
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    RequestSpecification alice() {
        return given().port(port()).header("Authorization", "Bearer sk_demo_alice");
    }

    /** As an operator stops it: SIGTERM. */
    void terminate() {
        process.destroy();
    }

    /** SIGKILL: nothing of it runs any more. */
    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    /** Its exit status, waited for. */
    int status() throws InterruptedException {
        if (!process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
            throw new IllegalStateException("it still runs: " + out() + err());
        }
        return process.exitValue();
    }

    @Override
    public void close() {
        process.destroyForcibly();
        try {
            process.waitFor();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
