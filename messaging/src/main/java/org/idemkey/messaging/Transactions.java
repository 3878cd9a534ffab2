// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import static java.util.Objects.requireNonNull;

import java.sql.Connection;
import java.sql.SQLException;
import javax.sql.DataSource;

/** Transactions of our own: one connection each, given back in the mode in which it came. */
final class Transactions {

    private Transactions() {}

    /** What happens within one transaction. */
    @FunctionalInterface
    interface Work<T, E extends Exception> {
        T on(Connection connection) throws SQLException, E;
    }

    /** Commits what the work did if it returns, and rolls it back if it throws. */
    static <T, E extends Exception> T run(DataSource dataSource, Work<T, E> work) throws SQLException, E {
        try (Connection connection = requireNonNull(dataSource, "dataSource").getConnection()) {
            boolean autoCommit = connection.getAutoCommit();
            if (autoCommit) {
                connection.setAutoCommit(false);
            }
            T result;
            try {
                result = work.on(connection);
            } catch (Throwable e) {
                try {
                    connection.rollback();
                    // Never without the rollback: to switch it on commits what is open.
                    if (autoCommit) {
                        connection.setAutoCommit(true);
                    }
                } catch (SQLException more) {
                    e.addSuppressed(more);
                }
                throw e;
            }
            connection.commit();
            if (autoCommit) {
                connection.setAutoCommit(true);
            }
            return result;
        }
    }

    /** Refuses a connection on which each statement would be a transaction of its own. */
    static void requireOpen(Connection connection) throws SQLException {
        if (requireNonNull(connection, "connection").getAutoCommit()) {
            throw new IllegalStateException(
                    "the connection is in auto-commit mode: there is no transaction to be part of");
        }
    }
}
