// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Path;
import org.idemkey.example.Settings.DatabaseAddress;
import org.jspecify.annotations.Nullable;

/** A PostgreSQL that a test can stop and start again, with its data and at its port. Always an embedded one. */
final class StoppableServer implements AutoCloseable {

    private final Path directory;
    private final int port;
    private @Nullable EmbeddedPostgres server;

    private StoppableServer(Path directory, int port) {
        this.directory = directory;
        this.port = port;
    }

    static StoppableServer start(Path directory) throws IOException {
        int port;
        try (ServerSocket socket = new ServerSocket(0)) {
            port = socket.getLocalPort();
        }
        StoppableServer stoppable = new StoppableServer(directory, port);
        stoppable.start();
        return stoppable;
    }

    DatabaseAddress address() {
        return new DatabaseAddress("jdbc:postgresql://localhost:" + port + "/postgres", "postgres", "");
    }

    void start() throws IOException {
        server = EmbeddedPostgres.builder()
                .setPort(port)
                .setDataDirectory(directory)
                .setCleanDataDirectory(false)
                .start();
    }

    /** Ends all sessions, whatever they are at. */
    void stop() throws IOException {
        if (server != null) {
            server.close();
        }
    }

    @Override
    public void close() throws IOException {
        stop();
    }
}
