// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.UUID;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.Lease;
import org.jspecify.annotations.Nullable;

/**
 * A claim that lives in its request's transaction, and dies with it.
 *
 * @param replaced the claim whose row this one's takes the place of
 * @param backend the transaction, as the server knows it
 */
record TransactionLease(
        IdempotencyKey key,
        UUID token,
        int attempt,
        Fingerprint fingerprint,
        Duration retention,
        @Nullable UUID replaced,
        Found.Backend backend,
        JoinedTransaction transaction,
        JoinedDataSource dataSource)
        implements Lease {

    /**
     * Does nothing on a connection that joins the request's transaction, since all that is written there depends on the
     * claim anyway.
     */
    @Override
    public void confirm(Connection connection) throws SQLException {
        if (transaction.hasEnded()) {
            throw new LostException(key);
        } else if (!transaction.owns(connection)) {
            throw new UnsupportedOperationException(
                    "this claim lives in the request's own transaction: take connections from the joined DataSource");
        }
    }

    @Override
    public Connection connection() throws SQLException {
        return transaction.connection();
    }

    @Override
    public Binding bind() {
        return dataSource.bind(transaction);
    }

    @Override
    public void detach() {
        dataSource.requireChoice();
    }
}
