// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import java.sql.DriverManager;
import org.idemkey.example.Settings.DatabaseAddress;
import org.idemkey.testpostgres.Connector;
import org.idemkey.testpostgres.PostgresDatabase;

/** An empty database. */
final class TestDatabase extends PostgresDatabase {

    TestDatabase() {
        super("payments");
    }

    DatabaseAddress address() {
        return new DatabaseAddress(url(), user(), password());
    }

    /** A way into any database. */
    static Connector at(DatabaseAddress address) {
        return () -> DriverManager.getConnection(address.url(), address.user(), address.password());
    }
}
