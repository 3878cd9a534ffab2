// SPDX-License-Identifier: Apache-2.0
package org.idemkey.testpostgres;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Opens connections in auto-commit mode, on each of which one statement is run. What the database refuses is thrown unchecked. */
@FunctionalInterface
public interface Connector {

    /** A connection; the caller closes it. */
    Connection connect() throws SQLException;

    /** Runs one statement in a transaction of its own, and answers how many rows it touched. */
    default int update(String sql, Object... parameters) {
        try (Connection connection = connect();
                PreparedStatement statement = prepare(connection, sql, parameters)) {
            return statement.executeUpdate();
        } catch (SQLException e) {
            throw new IllegalStateException(sql, e);
        }
    }

    /** The first column of all rows. */
    default List<@Nullable Object> list(String sql, Object... parameters) {
        try (Connection connection = connect();
                PreparedStatement statement = prepare(connection, sql, parameters);
                ResultSet rows = statement.executeQuery()) {
            List<@Nullable Object> values = new ArrayList<>();
            while (rows.next()) {
                values.add(rows.getObject(1));
            }
            return values;
        } catch (SQLException e) {
            throw new IllegalStateException(sql, e);
        }
    }

    /** The first column of the first row, null where there is none. */
    default @Nullable Object query(String sql, Object... parameters) {
        List<@Nullable Object> values = list(sql, parameters);
        return values.isEmpty() ? null : values.get(0);
    }

    /** The number in the first column of the only row. */
    default long count(String sql, Object... parameters) {
        if (query(sql, parameters) instanceof Number number) {
            return number.longValue();
        }
        throw new IllegalStateException("no number: " + sql);
    }

    private static PreparedStatement prepare(Connection connection, String sql, Object... parameters)
            throws SQLException {
        PreparedStatement statement = connection.prepareStatement(sql);
        for (int i = 0; i < parameters.length; i++) {
            statement.setObject(i + 1, parameters[i]);
        }
        return statement;
    }
}
