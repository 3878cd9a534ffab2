// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.regex.Matcher;
import javax.sql.DataSource;
import org.idemkey.IdempotencyStoreException;

/**
 * Creates the table, for tests and first steps. An application whose schema is under a migration tool gives that tool
 * the resource {@code org/idemkey/postgres/schema.sql}, which is all that is run here.
 */
public final class PostgresSchema {

    private static final int TRIES = 5;

    private PostgresSchema() {}

    /**
     * Creates the table {@code idempotency_key} and its index in the first schema of the search path, unless they are
     * there. Any number of processes may do so at once.
     *
     * @throws IdempotencyStoreException if the database can't be reached, or refuses
     */
    public static void create(DataSource dataSource) {
        create(dataSource, TableName.DEFAULT);
    }

    /**
     * Creates a table of another name, unless it is there.
     *
     * @param table {@code table} or {@code schema.table}, in lower case; the schema must exist
     * @throws IllegalArgumentException if that is no such name
     * @throws IdempotencyStoreException if the database can't be reached, or refuses
     */
    public static void create(DataSource dataSource, String table) {
        create(dataSource, TableName.of(table));
    }

    private static void create(DataSource dataSource, TableName table) {
        Jdbc jdbc = new Jdbc(dataSource);
        String script = script(table);
        for (int tries = 1; ; tries++) {
            try {
                jdbc.call(connection -> run(connection, script));
                return;
            } catch (SQLException e) {
                // IF NOT EXISTS looks first and creates then: two at once can both find nothing.
                if (tries == TRIES || !Jdbc.isLostRace(e)) {
                    throw Jdbc.failure("the table " + table + " could not be created", e);
                }
            }
        }
    }

    private static boolean run(Connection connection, String script) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            return statement.execute(script);
        }
    }

    private static String script(TableName table) {
        return resource()
                .replaceAll("\\bidempotency_key(_expires_at|_pkey)\\b", table.table() + "$1")
                .replaceAll("\\bidempotency_key\\b", Matcher.quoteReplacement(table.sql()));
    }

    private static String resource() {
        try (InputStream in = PostgresSchema.class.getResourceAsStream("schema.sql")) {
            if (in == null) {
                throw new IllegalStateException("schema.sql is missing beside " + PostgresSchema.class.getName());
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
