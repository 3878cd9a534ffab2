// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import com.zaxxer.hikari.HikariConfig;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import org.idemkey.IdempotencyStore;
import org.idemkey.Lease;
import org.idemkey.conformance.IdempotencyStoreContract;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The contract on a real server. The two instances have pools of their own, one of them with auto-commit off. */
class PostgresJoinedLeaseStoreContractTest extends IdempotencyStoreContract {

    @RegisterExtension
    static final TestDatabase database = new TestDatabase();

    private static PostgresJoinedLeaseStore store;
    private static PostgresJoinedLeaseStore peer;

    @BeforeAll
    static void open() {
        HikariConfig manual = new HikariConfig();
        manual.setAutoCommit(false);
        store = PostgresJoinedLeaseStore.create(database.pool());
        peer = PostgresJoinedLeaseStore.create(database.pool(16, manual));
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

    @Override
    protected IdempotencyStore storeThatLosesItsFirstAnswer() {
        AtomicBoolean cut = new AtomicBoolean();
        return PostgresJoinedLeaseStore.create(new ProbedDataSource(database.pool(), new ProbedDataSource.Probe() {
            @Override
            public void after(Connection connection, String sql) throws SQLException {
                if (cut.compareAndSet(false, true)) {
                    throw ProbedDataSource.cut(connection);
                }
            }
        }));
    }
}
