// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** A wire to the database that can go dead: connections stay open, and nothing comes through any more. */
final class StallingProxy implements AutoCloseable {

    private final ServerSocket entrance;
    private final String url;
    private final String host;
    private final int port;
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private boolean stalled;

    StallingProxy(String jdbcUrl) throws IOException {
        URI real = URI.create(jdbcUrl.substring("jdbc:".length()));
        host = real.getHost();
        port = real.getPort() < 0 ? 5432 : real.getPort();
        entrance = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        url = "jdbc:postgresql://localhost:" + entrance.getLocalPort() + real.getRawPath();
        start(this::accept);
    }

    String url() {
        return url;
    }

    void stall() {
        set(true);
    }

    void resume() {
        set(false);
    }

    private void set(boolean value) {
        lock.lock();
        try {
            stalled = value;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void accept() {
        try {
            while (true) {
                Socket client = entrance.accept();
                Socket server = new Socket(host, port);
                sockets.add(client);
                sockets.add(server);
                start(() -> copy(client, server));
                start(() -> copy(server, client));
            }
        } catch (IOException e) {
            // Closed: the end of this proxy.
        }
    }

    private void copy(Socket from, Socket to) {
        byte[] buffer = new byte[8192];
        try (from;
                to) {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
                awaitFlow();
                out.write(buffer, 0, read);
            }
        } catch (IOException e) {
            // One side is gone; the other one follows.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void awaitFlow() throws InterruptedException {
        lock.lock();
        try {
            while (stalled) {
                changed.await();
            }
        } finally {
            lock.unlock();
        }
    }

    private static void start(Runnable task) {
        Thread thread = new Thread(task, "stalling-proxy");
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() throws IOException {
        entrance.close();
        resume();
        for (Socket socket : sockets) {
            socket.close();
        }
    }
}
