// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.SocketException;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.idemkey.Bytes;
import org.idemkey.servlet.FuzzOperation.Kind;

/** A client that keeps its connection as long as the server does. */
final class FuzzClient implements AutoCloseable {

    static final String RUN = "X-Run";

    /** What came where no answer did. */
    private static final RawResponse NOTHING = new RawResponse(0, List.of(), Bytes.EMPTY, List.of(), false);

    private final Map<String, FuzzRun> runs;
    private final Connector connector;
    private Socket socket;
    private InputStream in;

    /** How it connects. */
    @FunctionalInterface
    interface Connector {
        Socket connect() throws IOException;
    }

    /** An answer, and the run of the handler that gave it, or would have. */
    record Answer(RawResponse response, FuzzRun run) {}

    FuzzClient(ConcurrentHashMap<String, FuzzRun> runs, Connector connector) {
        this.runs = runs;
        this.connector = connector;
    }

    Answer post(String path, String key, FuzzProgram program) throws IOException, InterruptedException {
        boolean reused = socket != null;
        if (!reused) {
            socket = connector.connect();
            socket.setTcpNoDelay(true);
            in = new BufferedInputStream(socket.getInputStream(), 65_536);
        }
        FuzzRun run = new FuzzRun(program);
        String id = UUID.randomUUID().toString();
        runs.put(id, run);
        RawResponse response = NOTHING;
        // A body that is shorter than its handler said ends with the connection, or never.
        String close = program.contains(Kind.LENGTH) ? "Connection: close\r\n" : "";
        try {
            String head = "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n" + close + RUN + ": "
                    + id + "\r\nIdempotency-Key: " + key + "\r\n\r\n";
            socket.getOutputStream().write(head.getBytes(ISO_8859_1));
            response = RawResponse.read(in);
        } catch (EOFException | SocketException e) {
            // The connection ended after the answer before, or in place of this one.
        }
        run.awaitEnd();
        runs.remove(id);
        if (!response.framed()
                || response.header("Connection").filter("close"::equals).isPresent()) {
            close();
        }
        return reused && response.status() == 0 && !run.hasEntered()
                ? post(path, key, program)
                : new Answer(response, run);
    }

    @Override
    public void close() throws IOException {
        if (socket != null) {
            socket.close();
            socket = null;
        }
    }
}
