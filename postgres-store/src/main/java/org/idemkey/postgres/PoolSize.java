// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.util.List;
import java.util.OptionalInt;
import javax.sql.DataSource;

/** How many connections a pool has at most, where it tells by one of the getters that pools have. */
final class PoolSize {

    /** HikariCP, Commons DBCP 2, c3p0, Tomcat JDBC and Druid. */
    private static final List<String> GETTERS =
            List.of("getMaximumPoolSize", "getMaxTotal", "getMaxPoolSize", "getMaxActive");

    private PoolSize() {}

    /** The size, or empty where the pool doesn't tell, or has no limit. */
    static OptionalInt of(DataSource pool) {
        for (String getter : GETTERS) {
            try {
                Object size = pool.getClass().getMethod(getter).invoke(pool);
                if (size instanceof Integer number && number > 0) {
                    return OptionalInt.of(number);
                }
            } catch (ReflectiveOperationException | RuntimeException e) {
                // Another kind of pool.
            }
        }
        return OptionalInt.empty();
    }
}
