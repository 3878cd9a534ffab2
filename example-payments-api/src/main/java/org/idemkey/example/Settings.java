// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.Map;
import org.idemkey.Terms;
import org.jspecify.annotations.Nullable;

/**
 * What the environment says. A variable that is empty counts as one that is not set.
 *
 * @param port {@code PORT}: 0 to 65535, 8080 by default; 0 takes any free one
 * @param database {@code DATABASE_URL}, {@code DATABASE_USER} and {@code DATABASE_PASSWORD}; null without a URL, which
 *     asks for an embedded server
 * @param dataDirectory {@code DATA_DIR}: where the embedded server keeps its data; {@code ./payments-data} by default
 * @param terms {@code IDEMPOTENCY_LEASE} and {@code IDEMPOTENCY_RETENTION}, ISO-8601 durations; {@code PT30S} and
 *     {@code PT24H} by default
 * @param mode {@code IDEMPOTENCY_MODE}; {@code same-transaction} by default
 * @param kafka {@code KAFKA_BOOTSTRAP_SERVERS}: {@code host:port}, or several with commas; null if events go to the
 *     ledger without a broker
 */
record Settings(
        int port,
        @Nullable DatabaseAddress database,
        Path dataDirectory,
        Terms terms,
        IdempotencyMode mode,
        @Nullable String kafka) {

    /** A name as JDBC wants it; user and password may be part of the URL instead. */
    record DatabaseAddress(
            String url, @Nullable String user, @Nullable String password) {

        /** Without the URL, since that may hold a password. */
        @Override
        public String toString() {
            return "DatabaseAddress";
        }
    }

    /**
     * Reads and checks all of them.
     *
     * @throws StartupException if one is wrong; the message names it
     */
    static Settings of(Map<String, String> environment) throws StartupException {
        return new Settings(
                port(text(environment, "PORT", "8080")),
                database(environment),
                path("DATA_DIR", text(environment, "DATA_DIR", "./payments-data")),
                new Terms(
                        duration("IDEMPOTENCY_LEASE", text(environment, "IDEMPOTENCY_LEASE", "PT30S")),
                        duration("IDEMPOTENCY_RETENTION", text(environment, "IDEMPOTENCY_RETENTION", "PT24H"))),
                mode(text(environment, "IDEMPOTENCY_MODE", IdempotencyMode.SAME_TRANSACTION.toString())),
                kafka(environment));
    }

    private static @Nullable String kafka(Map<String, String> environment) throws StartupException {
        String servers = optional(environment, "KAFKA_BOOTSTRAP_SERVERS");
        if (servers != null && !servers.matches("[^\\s,:]+:[0-9]{1,5}(,[^\\s,:]+:[0-9]{1,5})*")) {
            throw new StartupException(
                    "KAFKA_BOOTSTRAP_SERVERS must be host:port, or several with commas, but is \"" + servers + "\"");
        }
        return servers;
    }

    private static IdempotencyMode mode(String text) throws StartupException {
        return IdempotencyMode.named(text)
                .orElseThrow(() -> new StartupException(
                        "IDEMPOTENCY_MODE must be one of " + IdempotencyMode.choices() + ", but is \"" + text + "\""));
    }

    private static String text(Map<String, String> environment, String name, String otherwise) {
        String value = optional(environment, name);
        return value == null ? otherwise : value;
    }

    private static @Nullable String optional(Map<String, String> environment, String name) {
        String value = environment.get(name);
        return value == null || value.isBlank() ? null : value.strip();
    }

    private static int port(String text) throws StartupException {
        if (text.matches("[0-9]{1,5}") && Integer.parseInt(text) <= 65_535) {
            return Integer.parseInt(text);
        }
        throw new StartupException("PORT must be a number from 0 to 65535, but is \"" + text + "\"");
    }

    private static Path path(String name, String text) throws StartupException {
        try {
            return Path.of(text);
        } catch (InvalidPathException e) {
            throw new StartupException(name + " must be a directory's path, but is \"" + text + "\"", e);
        }
    }

    private static Duration duration(String name, String text) throws StartupException {
        try {
            Duration duration = Duration.parse(text);
            // The one place that knows the bounds; both terms have the same.
            return new Terms(duration, duration).lease();
        } catch (DateTimeParseException | IllegalArgumentException e) {
            throw new StartupException(
                    name + " must be a duration such as PT30S, from 1 ms to " + Terms.MAX_DAYS + " days, but is \""
                            + text + "\"",
                    e);
        }
    }

    private static @Nullable DatabaseAddress database(Map<String, String> environment) throws StartupException {
        String url = optional(environment, "DATABASE_URL");
        if (url == null) {
            return null;
        }
        try {
            if (url.startsWith("jdbc:postgresql:")) {
                DriverManager.getDriver(url);
                String password = environment.get("DATABASE_PASSWORD");
                return new DatabaseAddress(
                        url,
                        optional(environment, "DATABASE_USER"),
                        password == null || password.isEmpty() ? null : password);
            }
        } catch (SQLException e) {
            // No driver takes it: as wrong as another scheme.
        }
        throw new StartupException(
                "DATABASE_URL must be a PostgreSQL JDBC URL, such as jdbc:postgresql://localhost:5432/payments");
    }
}
