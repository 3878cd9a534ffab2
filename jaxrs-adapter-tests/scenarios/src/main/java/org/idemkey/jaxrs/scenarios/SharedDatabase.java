// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.scenarios;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.sql.Statement;
import org.idemkey.postgres.PostgresSchema;
import org.idemkey.testpostgres.PostgresDatabase;
import org.jspecify.annotations.Nullable;

/** A database with the key table, and one for effects of which some can't be committed. */
final class SharedDatabase extends PostgresDatabase {

    private static final String EFFECT = """
            CREATE TABLE effect (key text NOT NULL, uncommittable boolean NOT NULL, at timestamptz NOT NULL DEFAULT now());
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                $$BEGIN RAISE EXCEPTION 'refused at the commit' USING ERRCODE = 'integrity_constraint_violation'; END$$;
            CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON effect DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW WHEN (NEW.uncommittable) EXECUTE FUNCTION refuse();
            """;

    private @Nullable HikariDataSource pool;

    SharedDatabase() {
        super("idemkey_jaxrs");
    }

    @Override
    protected void fill() throws SQLException {
        pool = pool(8, new HikariConfig());
        PostgresSchema.create(pool);
        try (var connection = connect();
                Statement statement = connection.createStatement()) {
            statement.execute(EFFECT);
        }
    }

    HikariDataSource pool() {
        if (pool == null) {
            throw new IllegalStateException("not created");
        }
        return pool;
    }

    /** Whether each connection is back in the pool. */
    boolean idle() {
        return pool().getHikariPoolMXBean().getActiveConnections() == 0;
    }
}
