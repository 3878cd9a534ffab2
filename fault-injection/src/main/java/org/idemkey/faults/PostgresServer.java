// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.idemkey.faults.Children.Signal;
import org.jspecify.annotations.Nullable;

/** One PostgreSQL server that the campaign starts, breaks and starts again. Not thread-safe. */
final class PostgresServer {

    private static final Duration START_PATIENCE = Duration.ofSeconds(60);

    private final Children children;
    private final PostgresPrograms programs;
    private final Path data;
    private final int port;
    private final Map<String, String> settings;
    private @Nullable Process process;

    /**
     * A server that isn't started yet.
     *
     * @param data its data directory; beside it lies its log
     * @param settings what stands in no file, such as {@code fsync}
     */
    PostgresServer(Children children, PostgresPrograms programs, Path data, int port, Map<String, String> settings) {
        this.children = children;
        this.programs = programs;
        this.data = data;
        this.port = port;
        this.settings = Map.copyOf(settings);
    }

    InetSocketAddress address() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
    }

    Path data() {
        return data;
    }

    /** Makes the data directory. Everyone on this machine is trusted, for as long as the campaign lasts. */
    void initialize() throws IOException, InterruptedException {
        run("initdb", "-D", data.toString(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "-N");
    }

    /** Makes the data directory as a standby's of another server, which must be up. */
    void copyFrom(PostgresServer primary, String applicationName) throws IOException, InterruptedException {
        run(
                "pg_basebackup",
                "-D",
                data.toString(),
                "-X",
                "stream",
                "-c",
                "fast",
                "-R",
                "-d",
                "host=127.0.0.1 user=postgres port=" + primary.port + " application_name=" + applicationName);
    }

    private void run(String program, String... arguments) throws IOException, InterruptedException {
        List<String> command = command(program);
        command.addAll(List.of(arguments));
        Process running = children.start(logged(command), Signal.KILL);
        if (!running.waitFor(START_PATIENCE.toSeconds(), TimeUnit.SECONDS) || running.exitValue() != 0) {
            throw new IOException(program + " failed:\n" + log());
        }
    }

    /** PostgreSQL refuses to be root: in a user namespace of its own it is nobody, and owns its files all the same. */
    private List<String> command(String program) {
        List<String> command = new ArrayList<>();
        if (ProcessHandle.current().info().user().filter("root"::equals).isPresent()) {
            command.addAll(List.of("unshare", "-U"));
        }
        command.add(programs.program(program));
        return command;
    }

    private ProcessBuilder logged(List<String> command) {
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(logFile().toFile()));
    }

    private Path logFile() {
        return data.resolveSibling(data.getFileName() + ".log");
    }

    private String log() throws IOException {
        List<String> lines = Files.readAllLines(logFile(), StandardCharsets.UTF_8);
        return String.join("\n", lines.subList(Math.max(0, lines.size() - 20), lines.size()));
    }

    /** Starts it, and waits until it takes connections: after a crash, until it has recovered. */
    void start() throws IOException, InterruptedException {
        List<String> command = command("postgres");
        command.addAll(List.of("-D", data.toString(), "-p", Integer.toString(port)));
        settings.forEach((name, value) -> command.addAll(List.of("-c", name + "=" + value)));
        Process started = children.start(logged(command), Signal.QUIT);
        process = started;
        long deadline = System.nanoTime() + START_PATIENCE.toNanos();
        while (true) {
            try {
                connect("postgres").close();
                return;
            } catch (SQLException e) {
                if (!started.isAlive() || System.nanoTime() > deadline) {
                    throw new IOException("PostgreSQL doesn't start:\n" + log(), e);
                }
                Thread.sleep(20);
            }
        }
    }

    boolean isRunning() {
        return process != null && process.isAlive();
    }

    /** Stops it in immediate mode: no check point, no goodbye; what was not committed is gone. */
    void stopImmediately() throws IOException, InterruptedException {
        Process running = process;
        if (running == null) {
            return;
        }
        Children.signal(running, Signal.QUIT);
        if (!running.waitFor(10, TimeUnit.SECONDS)) {
            running.destroyForcibly().waitFor();
        }
        process = null;
    }

    /** Kills all of its processes (SIGKILL), as the loss of its machine would. */
    void kill() throws InterruptedException {
        Process running = process;
        if (running == null) {
            return;
        }
        // The postmaster first, so that it can't mourn its children and start others.
        List<ProcessHandle> backends = running.descendants().toList();
        running.destroyForcibly();
        backends.forEach(ProcessHandle::destroyForcibly);
        running.waitFor();
        process = null;
    }

    /** Connects as the superuser; the caller closes it. */
    Connection connect(String database) throws SQLException {
        return DriverManager.getConnection(
                url(address(), database) + "?user=postgres&connectTimeout=2&socketTimeout=30");
    }

    /** A JDBC URL without a user. */
    static String url(InetSocketAddress address, String database) {
        return "jdbc:postgresql://127.0.0.1:" + address.getPort() + "/" + database;
    }
}
