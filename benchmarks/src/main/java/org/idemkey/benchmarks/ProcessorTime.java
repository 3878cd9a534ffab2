// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The processor time that everybody who has to do with a request has used so far, as Linux counts it.
 *
 * @param nanos of each user
 * @param contextSwitches of the whole machine
 */
record ProcessorTime(Map<User, Long> nanos, long contextSwitches) {

    private static final Path PROC = Path.of("/proc");

    /** Who uses it. */
    enum User {
        SERVING_THREADS,
        CLIENTS,
        /** Compiler, garbage collector and all other threads of this process. */
        VIRTUAL_MACHINE,
        DATABASE
    }

    /**
     * Reads the clocks.
     *
     * @throws IOException if this is no Linux
     */
    static ProcessorTime now() throws IOException {
        Map<User, Long> nanos = new EnumMap<>(User.class);
        String self = Long.toString(ProcessHandle.current().pid());
        for (Path process : numbered(PROC)) {
            if (process.endsWith(self)) {
                for (Path thread : numbered(process.resolve("task"))) {
                    add(nanos, user(name(thread)), thread);
                }
            } else if (name(process).equals("postgres")) {
                add(nanos, User.DATABASE, process);
            }
        }
        String switches = Files.readAllLines(PROC.resolve("stat")).stream()
                .filter(line -> line.startsWith("ctxt "))
                .findFirst()
                .orElseThrow();
        return new ProcessorTime(nanos, Long.parseLong(switches.substring("ctxt ".length())));
    }

    /** Of one user between two readings. */
    long since(ProcessorTime before, User user) {
        return nanos.getOrDefault(user, 0L) - before.nanos.getOrDefault(user, 0L);
    }

    private static List<Path> numbered(Path directory) throws IOException {
        try (Stream<Path> entries = Files.list(directory)) {
            return entries.filter(entry -> entry.getFileName().toString().matches("\\d+"))
                    .toList();
        }
    }

    private static User user(String thread) {
        if (thread.startsWith("http-")) {
            return User.SERVING_THREADS;
        }
        return thread.startsWith(Load.THREADS) ? User.CLIENTS : User.VIRTUAL_MACHINE;
    }

    /** Empty if it has ended. */
    private static String name(Path task) throws IOException {
        return read(task.resolve("comm")).strip();
    }

    private static void add(Map<User, Long> nanos, User user, Path task) throws IOException {
        String times = read(task.resolve("schedstat"));
        if (!times.isEmpty()) {
            nanos.merge(user, Long.parseLong(times.substring(0, times.indexOf(' '))), Long::sum);
        }
    }

    private static String read(Path file) throws IOException {
        try {
            return Files.readString(file);
        } catch (NoSuchFileException e) {
            return "";
        } catch (IOException e) {
            // A process that ends just now.
            if (Files.exists(file)) {
                throw e;
            }
            return "";
        }
    }
}
