// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The processes that the campaign has started, and no others: each is ended by its own id, whatever becomes of the
 * campaign. Thread-safe.
 */
final class Children implements AutoCloseable {

    private static final long QUIT_SECONDS = 5;

    private final Map<Process, Signal> running = new LinkedHashMap<>();
    private boolean closed;

    /** What can be said to a process. */
    enum Signal {
        KILL,
        QUIT,
        STOP,
        CONT,
        TERM
    }

    /**
     * Starts a process.
     *
     * @param last what ends it when the campaign ends: KILL, or QUIT where the process has children of its own to end
     * @throws IOException if it can't be started, or the campaign is ending
     */
    synchronized Process start(ProcessBuilder builder, Signal last) throws IOException {
        if (closed) {
            throw new IOException("the campaign is ending");
        }
        Process process = builder.start();
        running.keySet().removeIf(other -> !other.isAlive());
        running.put(process, last);
        return process;
    }

    /**
     * Signals a process that this campaign has started; nothing happens if it has ended.
     *
     * @throws IOException if the signal could not be sent
     */
    static void signal(Process process, Signal signal) throws IOException {
        if (!process.isAlive()) {
            return;
        }
        if (signal == Signal.KILL) {
            process.destroyForcibly();
            return;
        }
        // The shell's own kill: the program of that name isn't everywhere.
        Process kill = new ProcessBuilder("sh", "-c", "kill -" + signal + " \"$0\"", Long.toString(process.pid()))
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        try {
            if (!kill.waitFor(10, TimeUnit.SECONDS)) {
                kill.destroyForcibly();
                throw new IOException("no answer from kill");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
    }

    /** Ends all of them, the last one first, and lets no other start. */
    @Override
    public synchronized void close() {
        closed = true;
        Process[] processes = running.keySet().toArray(Process[]::new);
        for (int i = processes.length - 1; i >= 0; i--) {
            end(processes[i], running.getOrDefault(processes[i], Signal.KILL));
        }
        running.clear();
    }

    private static void end(Process process, Signal last) {
        try {
            signal(process, last);
            if (process.waitFor(QUIT_SECONDS, TimeUnit.SECONDS)) {
                return;
            }
        } catch (IOException e) {
            // Then without asking.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        process.destroyForcibly();
    }
}
