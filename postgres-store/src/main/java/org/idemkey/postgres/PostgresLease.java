// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.UUID;
import org.idemkey.IdempotencyKey;
import org.idemkey.Lease;

/** A claim in the table. Holds no connection and no state but its name: what it is worth, the row tells. */
final class PostgresLease implements Lease {

    private final KeyTable table;
    private final IdempotencyKey key;
    private final UUID token;
    private final int attempt;

    PostgresLease(KeyTable table, IdempotencyKey key, UUID token, int attempt) {
        this.table = table;
        this.key = key;
        this.token = token;
        this.attempt = attempt;
    }

    @Override
    public IdempotencyKey key() {
        return key;
    }

    @Override
    public UUID token() {
        return token;
    }

    @Override
    public int attempt() {
        return attempt;
    }

    /**
     * {@inheritDoc}
     *
     * @throws IllegalStateException if the connection is in auto-commit mode, where the mark would be true before the
     *     effect is
     */
    @Override
    public void confirm(Connection connection) throws SQLException {
        if (connection.getAutoCommit()) {
            throw new IllegalStateException("confirm a claim within the business transaction, not in auto-commit mode");
        }
        if (!table.confirm(connection, key, token)) {
            throw new LostException(key);
        }
    }

    @Override
    public String toString() {
        return "attempt " + attempt + " of key " + key;
    }
}
