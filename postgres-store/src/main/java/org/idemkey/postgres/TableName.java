// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static java.util.Objects.requireNonNull;

import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The name of a table, checked, since it is the one thing in a statement that can't be bound as a value. */
final class TableName {

    /** {@code idempotency_key}, wherever the search path finds it. */
    static final TableName DEFAULT = new TableName(null, "idempotency_key");

    private static final Pattern NAME = Pattern.compile("[a-z_][a-z0-9_]{0,62}");

    private final @Nullable String schema;
    private final String table;

    private TableName(@Nullable String schema, String table) {
        this.schema = schema;
        this.table = table;
    }

    /**
     * Reads {@code table} or {@code schema.table}, each a letter or underscore followed by letters, digits or
     * underscores, in lower case, 63 characters at most.
     */
    static TableName of(String name) {
        int dot = requireNonNull(name, "name").indexOf('.');
        String schema = dot < 0 ? null : name.substring(0, dot);
        String table = name.substring(dot + 1);
        if (!NAME.matcher(table).matches()
                || (schema != null && !NAME.matcher(schema).matches())) {
            throw new IllegalArgumentException(
                    "a table is named table or schema.table, in lower-case letters, digits and underscores");
        }
        return new TableName(schema, table);
    }

    /** The name without its schema, unquoted. */
    String table() {
        return table;
    }

    /** As it stands in a statement: quoted, so that it may be a reserved word. */
    String sql() {
        return schema == null ? quoted(table) : quoted(schema) + "." + quoted(table);
    }

    private static String quoted(String name) {
        return '"' + name + '"';
    }

    @Override
    public String toString() {
        return schema == null ? table : schema + "." + table;
    }
}
