// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;

/**
 * Stands between a pool and the server: counts round trips, and breaks the connection at a chosen moment. A round trip
 * is counted where the client speaks again after the server has spoken.
 */
final class WireProxy implements Closeable {

    /** What is done when a message that holds the marked text comes along. */
    enum Fault {
        /** Neither side hears of the other again, and the server never gets the message. */
        CUT_BEFORE,
        /** The server gets the message, but its answer is lost with the connection. */
        CUT_AFTER,
        /** The message lies somewhere on the way; the connection stays open. */
        STALL_BEFORE,
        /** The server gets the message; its answer lies somewhere on the way. */
        STALL_AFTER
    }

    /** PostgreSQL's ReadyForQuery, its last byte aside. */
    private static final String READY = "Z\0\0\0\5";

    private final ServerSocket listener;
    private final URI server;
    private final Collection<Link> links = new ConcurrentLinkedQueue<>();
    private final CountDownLatch struck = new CountDownLatch(1);
    private volatile String marker;
    private volatile Fault fault;
    private int roundTrips;
    private int answers;

    WireProxy(TestDatabase database) {
        try {
            listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        server = URI.create(database.url().substring("jdbc:".length()));
        start(this::accept);
    }

    /** A pool whose connections go through here. */
    HikariDataSource pool(TestDatabase database, int size) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(
                "jdbc:postgresql://localhost:" + listener.getLocalPort() + server.getPath() + "?sslmode=disable");
        config.setUsername(database.user());
        config.setPassword(database.password());
        config.setMaximumPoolSize(size);
        // Or it would open others when it likes, in the middle of what is counted.
        config.setMinimumIdle(0);
        config.setConnectionTimeout(5_000);
        return new HikariDataSource(config);
    }

    /** Strikes once, at the next message that holds this text. */
    void strike(Fault how, String text) {
        fault = how;
        marker = text;
    }

    /** Waits until it has struck. */
    void awaitStrike() throws InterruptedException {
        struck.await();
    }

    synchronized int roundTrips() {
        return roundTrips;
    }

    private synchronized void count() {
        roundTrips++;
    }

    /** How often the server said that it is ready for the next message: once for each that it has answered. */
    synchronized int answers() {
        return answers;
    }

    private synchronized void countAnswers(String message) {
        for (int at = message.indexOf(READY); at >= 0; at = message.indexOf(READY, at + 1)) {
            answers++;
        }
    }

    private static void start(Runnable task) {
        Thread thread = new Thread(task, "wire-proxy");
        thread.setDaemon(true);
        thread.start();
    }

    private void accept() {
        try {
            while (true) {
                Link link = new Link(listener.accept(), new Socket(server.getHost(), server.getPort()));
                links.add(link);
                start(link::clientToServer);
                start(link::serverToClient);
            }
        } catch (IOException e) {
            // Closed.
        }
    }

    @Override
    public void close() throws IOException {
        listener.close();
        links.forEach(Link::cut);
    }

    /** One connection. */
    private final class Link {

        private final Socket client;
        private final Socket backend;
        private boolean serverSpoke = true;
        private boolean answersAreLost;
        private boolean answersAreStalled;

        Link(Socket client, Socket backend) {
            this.client = client;
            this.backend = backend;
        }

        void clientToServer() {
            byte[] buffer = new byte[1 << 16];
            try (InputStream in = client.getInputStream()) {
                for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                    synchronized (this) {
                        if (serverSpoke) {
                            count();
                        }
                        serverSpoke = false;
                    }
                    Fault now = faultFor(new String(buffer, 0, n, StandardCharsets.ISO_8859_1));
                    if (now == Fault.STALL_BEFORE) {
                        return;
                    } else if (now == Fault.CUT_BEFORE) {
                        cut();
                        return;
                    }
                    synchronized (this) {
                        answersAreLost |= now == Fault.CUT_AFTER;
                        answersAreStalled |= now == Fault.STALL_AFTER;
                    }
                    backend.getOutputStream().write(buffer, 0, n);
                }
            } catch (IOException e) {
                // The other direction has ended the connection.
            }
            cut();
        }

        void serverToClient() {
            byte[] buffer = new byte[1 << 16];
            try (InputStream in = backend.getInputStream()) {
                for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                    synchronized (this) {
                        if (answersAreLost) {
                            break;
                        } else if (answersAreStalled) {
                            return;
                        }
                        serverSpoke = true;
                    }
                    countAnswers(new String(buffer, 0, n, StandardCharsets.ISO_8859_1));
                    client.getOutputStream().write(buffer, 0, n);
                }
            } catch (IOException e) {
                // The other direction has ended the connection.
            }
            cut();
        }

        private Fault faultFor(String message) {
            synchronized (WireProxy.this) {
                if (marker == null || !message.contains(marker)) {
                    return null;
                }
                marker = null;
                struck.countDown();
                return fault;
            }
        }

        void cut() {
            try {
                client.close();
                backend.close();
            } catch (IOException e) {
                // Then it is closed.
            }
        }
    }
}
