// SPDX-License-Identifier: Apache-2.0
package org.idemkey.testkafka;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A JVM of its own with this one's class path, that can be killed. It ends with this JVM at the latest. */
public final class ChildProcess {

    private final Process process;
    private final Path log;

    /**
     * Starts a class.
     *
     * @param main must call {@link #dieWithParent()}
     * @param log gets what it prints
     */
    public ChildProcess(Class<?> main, Path log, Map<String, String> environment, String... arguments) {
        this.log = log;
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx384m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                main.getName()));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()));
        builder.environment().putAll(environment);
        builder.environment().put("CLASSPATH", System.getProperty("java.class.path"));
        try {
            process = builder.start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** In the child: ends it when its standard input does, as it does when the parent is gone. */
    public static void dieWithParent() {
        Thread watcher = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {
                    // Nothing is ever sent.
                }
            } catch (IOException e) {
                // As good as the end.
            }
            Runtime.getRuntime().halt(1);
        });
        watcher.setDaemon(true);
        watcher.start();
    }

    /** Whether it hasn't ended. */
    public boolean isAlive() {
        return process.isAlive();
    }

    /** kill -9, and waits for the end. */
    public void kill() throws InterruptedException {
        process.destroyForcibly();
        process.waitFor();
    }

    /** Waits for its end. */
    public int exitCode() throws InterruptedException {
        return process.waitFor();
    }

    /** What it has printed. */
    public String log() {
        try {
            return Files.readString(log);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
