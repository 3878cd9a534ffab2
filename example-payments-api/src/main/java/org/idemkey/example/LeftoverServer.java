// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * What a killed service leaves of its PostgreSQL: a server that goes on running, or a {@code postmaster.pid} whose
 * number now is another process's.
 *
 * <p>A process is taken for the server of a directory only if its executable is PostgreSQL's and its command line names
 * the directory. A number in a file is no proof: numbers are used again, and soon in a container.
 */
final class LeftoverServer {

    private static final Set<String> EXECUTABLES = Set.of("postgres", "pg_ctl");

    /** How long a fast shutdown may take, which ends all sessions and writes what is to be written. */
    private static final Duration FAST = Duration.ofSeconds(15);

    /** How long an immediate shutdown may take, which leaves the rest to recovery. */
    private static final Duration IMMEDIATE = Duration.ofSeconds(5);

    private static final Duration GLANCE = Duration.ofMillis(50);

    private LeftoverServer() {}

    /**
     * Makes sure that nothing runs on a data directory, and that nothing in it keeps a new server from starting. The
     * caller must be the only one to start servers there.
     *
     * @param data the directory's real path, as the server's command line has it
     * @throws StartupException if a server doesn't stop
     */
    static void clear(Path data) throws StartupException, IOException {
        stop(data);
        Path pidFile = data.resolve("postmaster.pid");
        if (!Files.exists(pidFile)) {
            return;
        }
        List<String> lines = new ArrayList<>(Files.readAllLines(pidFile));
        if (lines.isEmpty()) {
            // Its server was killed before it could write its number. PostgreSQL would wait for somebody to decide.
            Files.delete(pidFile);
        } else if (isAlive(lines.get(0))) {
            // PostgreSQL takes any live process of that number for its server, and refuses to start, except for its
            // own ancestors, which we are. The rest of the file stays, so that it still looks for sessions that may
            // have outlived their server.
            lines.set(0, Long.toString(ProcessHandle.current().pid()));
            Files.write(pidFile, lines);
        }
    }

    /**
     * Stops the server of a data directory, if there is one.
     *
     * @throws StartupException if it doesn't stop
     */
    static void stop(Path data) throws StartupException, IOException {
        if (!signal(data, "INT", FAST) && !signal(data, "QUIT", IMMEDIATE)) {
            throw new StartupException("PostgreSQL still runs on " + data + " and doesn't stop; its processes: "
                    + servers(data).stream().map(ProcessHandle::pid).toList());
        }
    }

    /** Signals all that is found until nothing is; false if that takes too long. */
    private static boolean signal(Path data, String signal, Duration patience) throws IOException {
        long start = System.nanoTime();
        Set<ProcessHandle> signalled = new HashSet<>();
        for (List<ProcessHandle> found = servers(data); !found.isEmpty(); found = servers(data)) {
            for (ProcessHandle process : found) {
                if (signalled.add(process)) {
                    // Java's own destroy() sends SIGTERM, which waits for clients to leave. Every shell has a kill.
                    new ProcessBuilder("sh", "-c", "kill -" + signal + " " + process.pid())
                            .redirectErrorStream(true)
                            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                            .start();
                }
            }
            if (System.nanoTime() - start > patience.toNanos()) {
                return false;
            }
            try {
                found.get(0).onExit().get(GLANCE.toMillis(), TimeUnit.MILLISECONDS);
            } catch (TimeoutException | ExecutionException e) {
                // Look again: a zombie that nobody reaps never exits, but has no command line any more.
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return false;
            }
        }
        return true;
    }

    private static List<ProcessHandle> servers(Path data) {
        return ProcessHandle.allProcesses()
                .filter(process -> serves(process.info(), data))
                .toList();
    }

    private static boolean serves(ProcessHandle.Info process, Path data) {
        Optional<String[]> arguments = process.arguments();
        return process.command()
                        .map(command -> EXECUTABLES.contains(
                                String.valueOf(Path.of(command).getFileName())))
                        .orElse(false)
                && arguments.isPresent()
                && List.of(arguments.get()).contains(data.toString());
    }

    private static boolean isAlive(String pid) {
        return pid.strip().matches("[0-9]{1,10}")
                && ProcessHandle.of(Long.parseLong(pid.strip())).isPresent();
    }
}
