// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Stands between a client and a server, on a loopback port of its own, and does to their connections what networks do:
 * resets, stalls and delays them, or breaks one just as certain bytes pass ({@link Trap}). Thread-safe.
 */
final class TcpProxy implements AutoCloseable {

    private static final int CONNECT_MILLIS = 2_000;

    /** Which way bytes go. */
    enum Direction {
        TO_SERVER,
        TO_CLIENT
    }

    private final String name;
    private final ServerSocket listener;
    private final Set<Link> links = ConcurrentHashMap.newKeySet();
    private final List<Trap> traps = new CopyOnWriteArrayList<>();
    private final Object gate = new Object();
    private boolean shut;
    private volatile InetSocketAddress server;
    private volatile long delayMillis;
    private volatile boolean closed;

    /** Listens at once. */
    TcpProxy(String name, InetSocketAddress server) throws IOException {
        this.name = name;
        this.server = server;
        listener = new ServerSocket(0, 256, InetAddress.getLoopbackAddress());
        daemon("accepts", this::accept);
    }

    /** Where clients connect to. */
    InetSocketAddress address() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), listener.getLocalPort());
    }

    /** Sends connections to another server from now on; those that there are stay where they are. */
    void pointTo(InetSocketAddress other) {
        server = other;
    }

    private void accept() {
        while (!closed) {
            Socket client;
            try {
                client = listener.accept();
            } catch (IOException e) {
                // Closed, or out of descriptors: then clients are told by their own time-outs.
                continue;
            }
            daemon("connects", () -> connect(client));
        }
    }

    private void connect(Socket client) {
        Socket upstream = new Socket();
        try {
            client.setTcpNoDelay(true);
            upstream.setTcpNoDelay(true);
            upstream.connect(server, CONNECT_MILLIS);
        } catch (IOException e) {
            // As a refused connection looks through any relay.
            Link.reset(client);
            Link.reset(upstream);
            return;
        }
        Link link = new Link(this, client, upstream);
        links.add(link);
        daemon("to server", () -> link.pump(Direction.TO_SERVER));
        daemon("to client", () -> link.pump(Direction.TO_CLIENT));
        if (closed) {
            link.cut();
        }
    }

    private void daemon(String what, Runnable task) {
        Thread thread = new Thread(task, name + " " + what);
        thread.setDaemon(true);
        thread.start();
    }

    /** Forgets a link that has ended. */
    void ended(Link link) {
        links.remove(link);
    }

    /** How many connections there are. */
    int links() {
        return links.size();
    }

    /** Resets all connections, and answers how many there were. */
    int cut() {
        int count = 0;
        for (Link link : links) {
            link.cut();
            count++;
        }
        return count;
    }

    /** Lets nothing pass from now on. New connections are taken, and nothing passes there either. */
    void stall() {
        synchronized (gate) {
            shut = true;
        }
    }

    /** Holds back each piece for a while. */
    void delay(long millis) {
        delayMillis = millis;
    }

    /** Ends stall and delay, and lets everything pass that was held back, even where its sender is gone. */
    void heal() {
        delayMillis = 0;
        synchronized (gate) {
            shut = false;
            gate.notifyAll();
        }
    }

    /** Called by a link that has read something, before it goes on. */
    void hold() throws InterruptedException {
        long millis = delayMillis;
        if (millis > 0) {
            Thread.sleep(millis);
        }
        synchronized (gate) {
            while (shut) {
                gate.wait();
            }
        }
    }

    /** Sets a trap: the first piece that it waits for springs it. */
    void set(Trap trap) {
        traps.add(trap);
    }

    /** Takes a trap away that may not have been sprung. */
    void remove(Trap trap) {
        traps.remove(trap);
    }

    /** The trap that this piece springs; it is gone then. */
    Optional<Trap> spring(Direction direction, byte[] bytes, int length) {
        for (Trap trap : traps) {
            if (trap.isSprungBy(direction, bytes, length)) {
                traps.remove(trap);
                return Optional.of(trap);
            }
        }
        return Optional.empty();
    }

    /** Resets everything, and takes no more connections. */
    @Override
    public void close() throws IOException {
        closed = true;
        listener.close();
        heal();
        cut();
    }
}
