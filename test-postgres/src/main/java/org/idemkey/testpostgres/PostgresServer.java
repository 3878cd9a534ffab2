// SPDX-License-Identifier: Apache-2.0
package org.idemkey.testpostgres;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;

/**
 * Where a server is reached, by someone who may create databases.
 *
 * @param url the JDBC URL of a database that is always there, without user and password
 */
public record PostgresServer(String url, String user, String password) {

    /**
     * The server of this run: the one that {@code DATABASE_URL}, {@code DATABASE_USER} ({@code postgres}, if unset) and
     * {@code DATABASE_PASSWORD} (empty) name, else an embedded one, which starts with the first call and ends with the
     * JVM. It takes 300 connections.
     *
     * @throws UncheckedIOException if the embedded one doesn't start
     */
    public static PostgresServer shared() {
        return Shared.SERVER;
    }

    /** The JDBC URL of another database of this server. */
    public String url(String database) {
        return url.replaceFirst("/[^/?]*(\\?|$)", "/" + database + "$1");
    }

    /** A connection outside any pool, in auto-commit mode; the caller closes it. */
    public Connection connect(String url) throws SQLException {
        return DriverManager.getConnection(url, user, password);
    }

    private static final class Shared {

        static final PostgresServer SERVER = start();

        private static PostgresServer start() {
            String given = System.getenv("DATABASE_URL");
            if (given != null && !given.isEmpty()) {
                return new PostgresServer(
                        given,
                        System.getenv().getOrDefault("DATABASE_USER", "postgres"),
                        System.getenv().getOrDefault("DATABASE_PASSWORD", ""));
            }
            try {
                // Ended by the library's own shutdown hook.
                EmbeddedPostgres server = EmbeddedPostgres.builder()
                        .setServerConfig("max_connections", "300")
                        .start();
                return new PostgresServer(
                        "jdbc:postgresql://localhost:" + server.getPort() + "/postgres", "postgres", "postgres");
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
