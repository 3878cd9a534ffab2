// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.UUID;
import java.util.stream.Stream;
import org.idemkey.example.Settings.DatabaseAddress;

/**
 * A PostgreSQL server for a first try, whose data survive: a stop, a kill of this process at any moment, and a kill
 * while the data directory is being made.
 *
 * <table>
 * <caption>In the directory</caption>
 * <tr><td>{@code lock}</td><td>is locked by the process that uses the directory; the lock ends with it</td></tr>
 * <tr><td>{@code cluster-…}</td><td>a data directory of PostgreSQL</td></tr>
 * <tr><td>{@code cluster}</td><td>names the one that counts; written once that is complete</td></tr>
 * <tr><td>{@code binaries}</td><td>the server's programs</td></tr>
 * <tr><td>{@code postgres.log}</td><td>what the server says, without statements and values</td></tr>
 * </table>
 */
final class EmbeddedDatabase implements AutoCloseable {

    private static final Duration START_PATIENCE = Duration.ofSeconds(60);

    private final FileChannel lock;
    private final Path data;
    private final EmbeddedPostgres server;

    private EmbeddedDatabase(FileChannel lock, Path data, EmbeddedPostgres server) {
        this.lock = lock;
        this.data = data;
        this.server = server;
    }

    /**
     * Starts a server on the data in a directory, or on new ones if it has none. A server that was left there by a
     * killed process is stopped first.
     *
     * @throws StartupException if another process uses the directory, or the server doesn't start
     */
    static EmbeddedDatabase start(Path directory) throws StartupException {
        try {
            Path home = Files.createDirectories(directory).toRealPath();
            FileChannel lock = lock(home);
            try {
                return start(home, lock);
            } catch (Throwable e) {
                lock.close();
                throw e;
            }
        } catch (IOException e) {
            throw new StartupException("DATA_DIR " + directory.toAbsolutePath() + " can't be used: " + e, e);
        }
    }

    private static FileChannel lock(Path home) throws StartupException, IOException {
        FileChannel file = FileChannel.open(home.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        try {
            if (file.tryLock() != null) {
                return file;
            }
        } catch (OverlappingFileLockException e) {
            // Held by this very process.
        }
        file.close();
        throw new StartupException("DATA_DIR " + home + " is in use by another payments-api");
    }

    private static EmbeddedDatabase start(Path home, FileChannel lock) throws StartupException, IOException {
        Path pointer = home.resolve("cluster");
        Path data = home.resolve(
                Files.exists(pointer) ? Files.readString(pointer).strip() : "cluster-" + UUID.randomUUID());
        removeHalfMade(home, data);
        LeftoverServer.clear(data);
        File binaries = binaries(home);
        EmbeddedPostgres server;
        try {
            server = EmbeddedPostgres.builder()
                    .setOverrideWorkingDirectory(binaries)
                    .setDataDirectory(data)
                    .setCleanDataDirectory(false)
                    .setDataDirectoryCustomizer(made -> name(pointer, data))
                    .setRegisterShutdownHook(false)
                    .setPGStartupWait(START_PATIENCE)
                    .setErrorRedirector(
                            Redirect.appendTo(home.resolve("postgres.log").toFile()))
                    .setOutputRedirector(
                            Redirect.appendTo(home.resolve("postgres.log").toFile()))
                    .setLocaleConfig("locale", "C")
                    // The library starts servers for tests, which may forget.
                    .setServerConfig("fsync", "on")
                    .setServerConfig("synchronous_commit", "on")
                    // No socket files outside of the directory, which a kill would leave there.
                    .setServerConfig("unix_socket_directories", "")
                    // Keys and values stay out of the log.
                    .setServerConfig("log_error_verbosity", "terse")
                    .setServerConfig("log_min_error_statement", "panic")
                    .start();
        } catch (IOException | RuntimeException | ExceptionInInitializerError e) {
            throw new StartupException(
                    "the embedded PostgreSQL doesn't start, " + home.resolve("postgres.log") + " may tell why: " + e,
                    e);
        }
        EmbeddedDatabase database = new EmbeddedDatabase(lock, data, server);
        try {
            // The library lets everybody write there, to share it among users.
            if (!binaries.setWritable(false, false) || !binaries.setWritable(true, true)) {
                throw new IOException("who may write to " + binaries + " can't be set");
            }
            database.requireOwnData();
        } catch (Throwable e) {
            database.close();
            throw e;
        }
        return database;
    }

    /** Removes what was being made when a process was killed. */
    private static void removeHalfMade(Path home, Path data) throws IOException {
        try (Stream<Path> entries = Files.list(home)) {
            for (Path entry : entries.filter(
                            path -> path.getFileName().toString().startsWith("cluster-"))
                    .filter(path -> !path.equals(data))
                    .toList()) {
                try {
                    Directories.delete(entry);
                } catch (IOException e) {
                    // Its initdb outlived the process and still writes there, in vain. The next start removes it.
                }
            }
        }
    }

    private static File binaries(Path home) throws IOException {
        Path binaries = Files.createDirectories(home.resolve("binaries"));
        try (Stream<Path> versions = Files.list(binaries)) {
            for (Path version : versions.toList()) {
                // The library's own mark; without it, it would unpack over what is there.
                if (!Files.exists(version.resolve(".exists"))) {
                    Directories.delete(version);
                }
            }
        }
        return binaries.toFile();
    }

    private static void name(Path pointer, Path data) {
        try {
            Path whole = Files.writeString(
                    pointer.resolveSibling("cluster.new"), data.getFileName().toString());
            Files.move(whole, pointer, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The port was free when it was chosen; another server may have been faster. */
    private void requireOwnData() throws StartupException {
        try (Connection connection = server.getPostgresDatabase().getConnection();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SHOW data_directory")) {
            if (row.next() && row.getString(1).equals(data.toString())) {
                return;
            }
        } catch (SQLException e) {
            throw new StartupException("the embedded PostgreSQL doesn't answer: " + e.getMessage(), e);
        }
        throw new StartupException("another PostgreSQL took the embedded one's port; start again");
    }

    /** Where it is reached: from this machine only, without a password. */
    DatabaseAddress address() {
        return new DatabaseAddress(server.getJdbcUrl("postgres", "postgres"), null, null);
    }

    /** Stops the server, and gives the directory free. */
    @Override
    public void close() throws StartupException, IOException {
        try {
            server.close();
            LeftoverServer.stop(data);
        } finally {
            lock.close();
        }
    }
}
