// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.idemkey.faults.Children.Signal;
import org.jspecify.annotations.Nullable;

/**
 * One instance of the sample API, in a process of its own, between two proxies: its clients', and its database's. It is
 * started again whenever it has ended, until it is stopped. Thread-safe.
 */
final class Instance implements AutoCloseable {

    private static final byte[] HEALTH =
            "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

    private static final Duration LOOK_PAUSE = Duration.ofMillis(100);
    private static final Duration OWN_EXIT_PAUSE = Duration.ofMillis(500);

    private final String name;
    private final Children children;
    private final Timetable timetable;
    private final ProcessBuilder builder;
    private final InetSocketAddress address;
    private final TcpProxy clientSide;
    private final TcpProxy databaseSide;
    private final AtomicInteger ownExits = new AtomicInteger();
    private @Nullable Process process;
    private @Nullable Process killed;
    private boolean up;
    private boolean stopping;

    /**
     * An instance that isn't started yet; its proxies are.
     *
     * @param command what starts it
     * @param environment what the sample is told beside its port and its database
     * @param log where its output goes
     */
    Instance(
            String name,
            Children children,
            Timetable timetable,
            List<String> command,
            InetSocketAddress database,
            Map<String, String> environment,
            Path log)
            throws IOException {
        this.name = name;
        this.children = children;
        this.timetable = timetable;
        address = new InetSocketAddress(InetAddress.getLoopbackAddress(), freePort());
        databaseSide = new TcpProxy(name + " database", database);
        clientSide = new TcpProxy(name + " clients", address);
        builder = new ProcessBuilder(command);
        builder.environment().putAll(environment);
        builder.environment().put("PORT", Integer.toString(address.getPort()));
        builder.environment().put("DATABASE_URL", PostgresServer.url(databaseSide.address(), Database.NAME));
        builder.environment().put("DATABASE_USER", Database.SERVICE);
        builder.environment().put("DATABASE_PASSWORD", "");
        builder.redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()));
    }

    /** A port that is free now; should somebody else take it, the instance ends and is started again until it is free. */
    static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    /** Between clients and this instance. */
    TcpProxy clientSide() {
        return clientSide;
    }

    /** Between this instance and its database. */
    TcpProxy databaseSide() {
        return databaseSide;
    }

    /** Starts it, if it isn't running. */
    synchronized void start() throws IOException {
        if (stopping || (process != null && process.isAlive())) {
            return;
        }
        Process started = children.start(builder, Signal.KILL);
        process = started;
        up = false;
        timetable.after(LOOK_PAUSE, () -> look(started));
        Future<?> unused = started.onExit().thenAccept(this::exited);
    }

    /** Finds out when it can work: nothing is done to it before, since that would show nothing. */
    private void look(Process started) {
        if (isHealthy()) {
            synchronized (this) {
                up = started.equals(process);
            }
        } else if (started.isAlive()) {
            timetable.after(LOOK_PAUSE, () -> look(started));
        }
    }

    private boolean isHealthy() {
        try (HttpWire wire = new HttpWire(address, Duration.ofSeconds(5))) {
            return wire.exchange(HEALTH).status() == 200;
        } catch (IOException e) {
            return false;
        }
    }

    private synchronized void exited(Process ended) {
        if (stopping) {
            return;
        }
        up = false;
        if (!ended.equals(killed)) {
            ownExits.incrementAndGet();
        }
        // Who ended by itself may do so again at once.
        timetable.after(ended.equals(killed) ? Duration.ZERO : OWN_EXIT_PAUSE, this::start);
    }

    /** SIGKILL, and another start; false if it isn't up. */
    synchronized boolean kill() {
        if (process == null || !up) {
            return false;
        }
        up = false;
        killed = process;
        process.destroyForcibly();
        return true;
    }

    /** SIGSTOP, and SIGCONT after a while; false if it isn't up. */
    synchronized boolean pause(Duration length) throws IOException {
        Process paused = process;
        if (paused == null || !up) {
            return false;
        }
        Children.signal(paused, Signal.STOP);
        timetable.after(length, () -> Children.signal(paused, Signal.CONT));
        return true;
    }

    /** Ends whatever was done to it and its connections, and starts it if it isn't running. */
    void heal() throws IOException {
        databaseSide.heal();
        clientSide.heal();
        Process paused;
        synchronized (this) {
            paused = process;
        }
        if (paused != null) {
            Children.signal(paused, Signal.CONT);
        }
        start();
    }

    /** Waits until it says that it can work. */
    boolean awaitHealthy(Duration patience) throws InterruptedException {
        long deadline = System.nanoTime() + patience.toNanos();
        while (System.nanoTime() < deadline) {
            if (isHealthy()) {
                return true;
            }
            Thread.sleep(50);
        }
        return false;
    }

    /** How often it has ended without having been killed. */
    int ownExits() {
        return ownExits.get();
    }

    /** Asks it to end (SIGTERM), and lets it stay so; false if it had to be killed. */
    boolean stop(Duration patience) throws IOException, InterruptedException {
        Process running;
        synchronized (this) {
            stopping = true;
            running = process;
        }
        if (running == null) {
            return true;
        }
        Children.signal(running, Signal.TERM);
        if (running.waitFor(patience.toMillis(), TimeUnit.MILLISECONDS)) {
            return true;
        }
        running.destroyForcibly().waitFor();
        return false;
    }

    @Override
    public void close() throws IOException {
        synchronized (this) {
            stopping = true;
        }
        try (clientSide;
                databaseSide) {
            if (process != null) {
                process.destroyForcibly();
            }
        }
    }

    @Override
    public String toString() {
        return name;
    }
}
