// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * A transaction-pooling PgBouncer before a test class's database, for line 66; to be registered after that. The
 * environment's {@code IDEMKEY_PGBOUNCER} has to name the program, else the class is skipped.
 */
final class PgBouncer implements BeforeAllCallback, AfterAllCallback {

    private final TestDatabase database;
    private final List<HikariDataSource> pools = new ArrayList<>();
    private Path directory;
    private Process process;
    private int port;

    PgBouncer(TestDatabase database) {
        this.database = database;
    }

    @Override
    public void beforeAll(ExtensionContext context) throws IOException {
        String program = System.getenv("IDEMKEY_PGBOUNCER");
        assumeTrue(
                program != null && !program.isEmpty(),
                "IDEMKEY_PGBOUNCER names no PgBouncer: `bash postgres-store/src/test/pgbouncer/run` installs one");
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        directory = Files.createTempDirectory("idemkey-pgbouncer");
        Path config = directory.resolve("pgbouncer.ini");
        URI server = URI.create(database.url().substring("jdbc:".length()));
        Files.writeString(
                config,
                String.join(
                        "\n",
                        "[databases]",
                        "* = host=%s port=%d user=%s password=%s"
                                .formatted(server.getHost(), server.getPort(), database.user(), database.password()),
                        "[pgbouncer]",
                        "listen_addr = 127.0.0.1",
                        "listen_port = " + port,
                        "unix_socket_dir =",
                        "auth_type = any",
                        "pool_mode = transaction",
                        "default_pool_size = 120",
                        "max_client_conn = 400",
                        "ignore_startup_parameters = extra_float_digits"));
        List<String> command = new ArrayList<>(List.of(program, "-q"));
        if ("root".equals(System.getProperty("user.name"))) {
            // It refuses to run as root.
            command.addAll(List.of("-u", "nobody"));
            Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
        }
        command.add(config.toString());
        process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(directory.resolve("log").toFile())
                .start();
        await().until(this::answers);
    }

    private boolean answers() {
        assertThat(process.isAlive()).isTrue();
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            return socket.isConnected();
        } catch (IOException e) {
            return false;
        }
    }

    @Override
    public void afterAll(ExtensionContext context) throws IOException {
        pools.forEach(HikariDataSource::close);
        if (process != null) {
            process.destroy();
            Files.delete(directory.resolve("pgbouncer.ini"));
            Files.delete(directory.resolve("log"));
            Files.delete(directory);
        }
    }

    /** Server-side prepared statements need PgBouncer 1.21 and its max_prepared_statements; so they are off. */
    HikariDataSource pool(int size, boolean autoCommit) {
        HikariConfig config = new HikariConfig();
        String name = URI.create(database.url().substring("jdbc:".length())).getPath();
        config.setJdbcUrl("jdbc:postgresql://127.0.0.1:" + port + name + "?prepareThreshold=0&sslmode=disable");
        config.setUsername(database.user());
        config.setPassword(database.password());
        config.setMaximumPoolSize(size);
        config.setMinimumIdle(1);
        config.setAutoCommit(autoCommit);
        HikariDataSource pool = new HikariDataSource(config);
        pools.add(pool);
        return pool;
    }
}
