// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.sql.Statement;
import javax.sql.DataSource;

/**
 * Creates the tables, for tests and first steps. An application whose schema is under a migration tool gives that tool
 * the resource {@code org/idemkey/messaging/schema.sql}, which is all that is run here.
 */
public final class MessagingSchema {

    /** IF NOT EXISTS looks first and creates then, so two at once could both find nothing. */
    private static final String ONE_AT_A_TIME =
            "SELECT pg_advisory_xact_lock(hashtextextended('idemkey-messaging', 0));";

    private MessagingSchema() {}

    /**
     * Creates {@code outbox} and {@code processed_message} with their indexes in the first schema of the search path,
     * unless they are there. Any number of processes may do so at once.
     *
     * @throws SQLException if the database can't be reached, or refuses
     */
    public static void create(DataSource dataSource) throws SQLException {
        String script = ONE_AT_A_TIME + resource();
        Transactions.run(dataSource, connection -> {
            try (Statement statement = connection.createStatement()) {
                return statement.execute(script);
            }
        });
    }

    private static String resource() {
        try (InputStream in = MessagingSchema.class.getResourceAsStream("schema.sql")) {
            if (in == null) {
                throw new IllegalStateException("schema.sql is missing beside " + MessagingSchema.class.getName());
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
