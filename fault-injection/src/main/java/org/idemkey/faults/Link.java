// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.io.IOException;
import java.net.Socket;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.idemkey.faults.TcpProxy.Direction;

/** One connection through a {@link TcpProxy}: two sockets, and a pump each way. */
final class Link {

    private final TcpProxy proxy;
    private final Socket client;
    private final Socket server;
    private final AtomicInteger pumps = new AtomicInteger(2);

    Link(TcpProxy proxy, Socket client, Socket server) {
        this.proxy = proxy;
        this.client = client;
        this.server = server;
    }

    /** Passes on what comes until there is no more; then an orderly end stays an orderly end, and a reset a reset. */
    void pump(Direction direction) {
        Socket from = direction == Direction.TO_SERVER ? client : server;
        Socket to = direction == Direction.TO_SERVER ? server : client;
        byte[] buffer = new byte[16 << 10];
        try {
            for (int length = from.getInputStream().read(buffer);
                    length >= 0;
                    length = from.getInputStream().read(buffer)) {
                proxy.hold();
                Optional<Trap> trap = proxy.spring(direction, buffer, length);
                if (trap.isPresent()) {
                    to.getOutputStream().write(buffer, 0, trap.get().passes(length));
                    trap.get().act();
                    cut();
                    return;
                }
                to.getOutputStream().write(buffer, 0, length);
            }
            to.shutdownOutput();
        } catch (IOException e) {
            cut();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            cut();
        } finally {
            if (pumps.decrementAndGet() == 0) {
                close();
            }
        }
    }

    /** Both peers have ended it in order. */
    private void close() {
        try (client;
                server) {
            proxy.ended(this);
        } catch (IOException e) {
            // There is no more to be done to them.
        }
    }

    /** Resets both ends: the peers learn of it at once, and what was under way is gone. */
    void cut() {
        proxy.ended(this);
        reset(client);
        reset(server);
    }

    /** Closes with RST instead of FIN. */
    static void reset(Socket socket) {
        try {
            socket.setSoLinger(true, 0);
        } catch (IOException e) {
            // Closed before, then.
        }
        try {
            socket.close();
        } catch (IOException e) {
            // There is no more to be done to it.
        }
    }
}
