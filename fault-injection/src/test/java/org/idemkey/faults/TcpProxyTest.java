// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.idemkey.faults.TcpProxy.Direction;
import org.idemkey.faults.Trap.Passing;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class TcpProxyTest {

    /** Long enough for anything that must come. */
    private static final int PATIENCE = 30_000;

    /** Long enough for what must not come to have come, were it not held back. */
    private static final int SHORT = 200;

    private ServerSocket listener;
    private TcpProxy proxy;
    private Socket client;
    private Socket server;

    @BeforeEach
    void connect() throws IOException {
        listener = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
        proxy = new TcpProxy("test", (InetSocketAddress) listener.getLocalSocketAddress());
        client = new Socket(proxy.address().getAddress(), proxy.address().getPort());
        client.setSoTimeout(PATIENCE);
        server = listener.accept();
        server.setSoTimeout(PATIENCE);
    }

    @AfterEach
    void close() throws IOException {
        client.close();
        server.close();
        proxy.close();
        listener.close();
    }

    private static void write(Socket socket, String text) throws IOException {
        socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
    }

    private static String read(Socket socket, int length) throws IOException {
        return new String(socket.getInputStream().readNBytes(length), StandardCharsets.US_ASCII);
    }

    private static void assertReset(Socket socket) {
        assertThatExceptionOfType(SocketException.class)
                .isThrownBy(() -> socket.getInputStream().readAllBytes())
                .withMessageContaining("reset");
    }

    private void assertHeldBack(Socket socket) throws IOException {
        socket.setSoTimeout(SHORT);
        assertThatExceptionOfType(SocketTimeoutException.class)
                .isThrownBy(() -> socket.getInputStream().read());
        socket.setSoTimeout(PATIENCE);
    }

    @Test
    void bytesPassBothWays() throws IOException {
        write(client, "ping");
        assertThat(read(server, 4)).isEqualTo("ping");
        write(server, "pong");
        assertThat(read(client, 4)).isEqualTo("pong");
    }

    @Test
    void anOrderlyEndStaysOneEachWay() throws IOException {
        write(client, "last words");
        client.shutdownOutput();
        assertThat(server.getInputStream().readAllBytes()).hasSize(10);
        write(server, "answer");
        server.close();
        assertThat(client.getInputStream().readAllBytes()).hasSize(6);
    }

    @Test
    void cutResetsBothEnds() throws IOException {
        write(client, "ping");
        assertThat(read(server, 4)).isEqualTo("ping");
        assertThat(proxy.cut()).isEqualTo(1);
        assertReset(client);
        assertReset(server);
        assertThat(proxy.links()).isZero();
    }

    @Test
    void aResetOfOneEndIsAResetOfTheOther() throws IOException {
        server.setSoLinger(true, 0);
        server.close();
        assertReset(client);
    }

    @Test
    void nothingPassesWhileItIsStalledAndEverythingThen() throws IOException {
        proxy.stall();
        write(client, "ping");
        write(server, "pong");
        assertHeldBack(server);
        assertHeldBack(client);
        proxy.heal();
        assertThat(read(server, 4)).isEqualTo("ping");
        assertThat(read(client, 4)).isEqualTo("pong");
    }

    /** A COMMIT that was sent before its sender gave up arrives all the same. */
    @Test
    void whatWasHeldBackArrivesThoughItsSenderIsGone() throws IOException {
        proxy.stall();
        write(client, "COMMIT");
        client.close();
        assertHeldBack(server);
        proxy.heal();
        assertThat(read(server, 6)).isEqualTo("COMMIT");
    }

    @Test
    void whatIsDelayedArrives() throws IOException {
        proxy.delay(20);
        write(client, "ping");
        assertThat(read(server, 4)).isEqualTo("ping");
    }

    @Test
    void aTrapSwallowsWhatItWaitsForAndActsBeforeAnybodyNotices() throws Exception {
        AtomicInteger acted = new AtomicInteger();
        Trap trap = new Trap(Direction.TO_CLIENT, List.of("COMMIT\0"), 1, Passing.NOTHING, acted::incrementAndGet);
        proxy.set(trap);
        write(client, "COMMIT\0");
        assertThat(read(server, 7)).isEqualTo("COMMIT\0");
        write(server, "INSERT 0 1\0");
        assertThat(read(client, 11)).isEqualTo("INSERT 0 1\0");
        write(server, "C....COMMIT\0Z");
        assertReset(client);
        assertThat(acted).hasValue(1);
        assertReset(server);
        assertThat(trap.await(PATIENCE)).isTrue();
    }

    @Test
    void aTrapCanTearAnAnswerInHalf() throws Exception {
        proxy.set(new Trap(Direction.TO_CLIENT, List.of("HTTP/1.1 "), 1, Passing.HALF, () -> {}));
        write(server, "HTTP/1.1 200 OK\r\n\r\n.");
        InputStream in = client.getInputStream();
        assertThat(in.readNBytes(10)).asString(StandardCharsets.US_ASCII).isEqualTo("HTTP/1.1 2");
        assertReset(client);
    }

    @Test
    void aTrapCanLetARequestPassAndLoseItsAnswer() throws Exception {
        proxy.set(new Trap(Direction.TO_SERVER, List.of("POST "), 1, Passing.ALL, () -> {}));
        write(client, "POST /payments");
        assertReset(client);
        assertThat(read(server, 14)).isEqualTo("POST /payments");
    }

    @Test
    void aTrapWaitsForTheNthAndSpringsOnce() throws Exception {
        Trap trap = new Trap(Direction.TO_SERVER, List.of("a", "b"), 3, Passing.ALL, () -> {});
        byte[] bytes = {'x', 'a'};
        assertThat(trap.isSprungBy(Direction.TO_CLIENT, bytes, 2)).isFalse();
        assertThat(trap.isSprungBy(Direction.TO_SERVER, bytes, 1)).isFalse();
        assertThat(trap.isSprungBy(Direction.TO_SERVER, bytes, 2)).isFalse();
        assertThat(trap.isSprungBy(Direction.TO_SERVER, new byte[] {'b'}, 1)).isFalse();
        assertThat(trap.isSprungBy(Direction.TO_SERVER, bytes, 2)).isTrue();
        assertThat(trap.isSprungBy(Direction.TO_SERVER, bytes, 2)).isFalse();
        assertThat(trap.await(1)).isFalse();
    }

    @Test
    void aServerThatIsAwayLooksAwayAndOneThatMovedIsFound() throws IOException {
        try (ServerSocket other = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
            InetSocketAddress moved = (InetSocketAddress) other.getLocalSocketAddress();
            listener.close();
            try (Socket refused =
                    new Socket(proxy.address().getAddress(), proxy.address().getPort())) {
                refused.setSoTimeout(PATIENCE);
                assertReset(refused);
            }
            proxy.pointTo(moved);
            try (Socket found = new Socket(
                            proxy.address().getAddress(), proxy.address().getPort());
                    Socket accepted = other.accept()) {
                accepted.setSoTimeout(PATIENCE);
                write(found, "ping");
                assertThat(read(accepted, 4)).isEqualTo("ping");
            }
        }
    }

    @Test
    void aClosedProxyLeavesNoConnection() throws IOException {
        proxy.stall();
        write(client, "ping");
        proxy.close();
        assertReset(client);
        assertThat(proxy.links()).isZero();
    }
}
