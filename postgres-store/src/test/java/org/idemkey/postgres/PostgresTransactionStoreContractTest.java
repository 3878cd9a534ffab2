// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import com.zaxxer.hikari.HikariConfig;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.idemkey.IdempotencyStore;
import org.idemkey.Lease;
import org.idemkey.conformance.IdempotencyStoreContract;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The contract on a real server. The two instances have pools of their own, one of them with auto-commit off. */
class PostgresTransactionStoreContractTest extends IdempotencyStoreContract {

    @RegisterExtension
    static final TestDatabase database = new TestDatabase();

    private static PostgresTransactionStore store;
    private static PostgresTransactionStore peer;

    @BeforeAll
    static void open() {
        HikariConfig manual = new HikariConfig();
        manual.setAutoCommit(false);
        // Some tests claim keys and leave it at that, each with its connection.
        store = PostgresTransactionStore.create(database.pool(48));
        peer = PostgresTransactionStore.create(database.pool(48, manual));
    }

    @Override
    protected IdempotencyStore store() {
        return store;
    }

    @Override
    protected IdempotencyStore peer() {
        return peer;
    }

    @Override
    protected void elapse(Duration time) {
        database.elapse(time);
    }

    @Override
    protected Lapse lapse() {
        return Lapse.NEVER;
    }

    /** In the request's own transaction, which is the only one that can depend on such a claim. */
    @Override
    protected void confirm(Lease lease) throws SQLException {
        try (Connection business = lease.connection()) {
            lease.confirm(business);
        } catch (SQLException e) {
            if (!JoinedConnection.NO_CONNECTION.equals(e.getSQLState())) {
                throw e;
            }
            try (Connection late = database.connect()) {
                lease.confirm(late);
            }
        }
    }
}
