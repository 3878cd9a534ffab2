// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.util.function.UnaryOperator;
import javax.naming.InitialContext;
import javax.naming.NameNotFoundException;
import javax.naming.NamingException;
import javax.sql.DataSource;
import org.idemkey.IdempotencyStore;
import org.jspecify.annotations.Nullable;

/**
 * Makes a {@link PostgresLeaseStore}, with a cleaner beside it, from textual settings such as a {@code web.xml}'s. Found
 * by {@link java.util.ServiceLoader}; nothing else needs its name.
 *
 * <table>
 * <caption>Settings</caption>
 * <tr><td>{@code dataSource}</td><td>JNDI name of a {@link DataSource}, below {@code java:comp/env/} or as it is; without
 *     it, no store is made</td></tr>
 * <tr><td>{@code table}</td><td>the table; {@code idempotency_key} by default</td></tr>
 * </table>
 */
public final class PostgresStoreProvider implements IdempotencyStore.Provider {

    /** For the service loader. */
    public PostgresStoreProvider() {}

    @Override
    public @Nullable IdempotencyStore create(UnaryOperator<@Nullable String> settings) {
        String name = settings.apply("dataSource");
        if (name == null) {
            return null;
        }
        PostgresLeaseStore.Builder builder = PostgresLeaseStore.builder(dataSource(name));
        String table = settings.apply("table");
        if (table != null) {
            builder.table(table);
        }
        PostgresLeaseStore store = builder.build();
        store.closeAlso(ExpiryCleaner.start(table == null ? TableName.DEFAULT.toString() : table, store::purgeExpired));
        return store;
    }

    private static DataSource dataSource(String name) {
        int colon = name.indexOf(':');
        if (colon >= 0 && !name.startsWith("java:")) {
            throw new IllegalArgumentException(
                    "dataSource must be a local JNDI name, without another scheme than java:");
        }
        try {
            return (DataSource) lookUp(name);
        } catch (NamingException | ClassCastException e) {
            throw new IllegalArgumentException("dataSource is not the JNDI name of a data source: " + name, e);
        }
    }

    // The name is the deployer's, who chooses the code that runs here anyway; and no scheme that leads to another host
    // gets this far.
    @SuppressWarnings("BanJNDI")
    private static Object lookUp(String name) throws NamingException {
        InitialContext context = new InitialContext();
        try {
            return context.lookup(name.startsWith("java:") ? name : "java:comp/env/" + name);
        } catch (NameNotFoundException e) {
            return context.lookup(name);
        } finally {
            context.close();
        }
    }
}
