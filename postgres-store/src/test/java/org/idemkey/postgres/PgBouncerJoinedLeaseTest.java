// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.idemkey.IdempotencyStore;
import org.idemkey.Lease;
import org.idemkey.conformance.IdempotencyStoreContract;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Line 66: the contract behind a transaction-pooling PgBouncer, with auto-commit on and off. */
class PgBouncerJoinedLeaseTest extends IdempotencyStoreContract {

    @RegisterExtension
    @Order(1)
    static final TestDatabase database = new TestDatabase();

    @RegisterExtension
    @Order(2)
    static final PgBouncer bouncer = new PgBouncer(database);

    private static PostgresJoinedLeaseStore store;
    private static PostgresJoinedLeaseStore peer;

    @BeforeAll
    static void open() {
        store = PostgresJoinedLeaseStore.create(bouncer.pool(16, true));
        peer = PostgresJoinedLeaseStore.create(bouncer.pool(16, false));
    }

    @AfterAll
    static void close() {
        store.close();
        peer.close();
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
        return Lapse.ACQUIRED;
    }

    @Override
    protected void confirm(Lease lease) throws SQLException {
        try (Connection business = database.connect()) {
            business.setAutoCommit(false);
            lease.confirm(business);
            business.commit();
        }
    }
}
