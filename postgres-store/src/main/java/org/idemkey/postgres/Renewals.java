// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.idemkey.postgres.KeyTable.Renewal;

/** The leases that a process holds. All of them are renewed in one statement; one that is found lost, never again. */
final class Renewals {

    private final Jdbc jdbc;
    private final KeyTable table;
    private final Map<UUID, Renewal> leases = new ConcurrentHashMap<>();

    Renewals(Jdbc jdbc, KeyTable table) {
        this.jdbc = jdbc;
        this.table = table;
    }

    void add(Renewal lease) {
        leases.put(lease.token(), lease);
    }

    void remove(UUID token) {
        leases.remove(token);
    }

    int size() {
        return leases.size();
    }

    Optional<Duration> shortest() {
        return leases.values().stream().map(Renewal::lease).min(Duration::compareTo);
    }

    /** Renews them all, and keeps those that are still claims. */
    void renew() throws SQLException {
        List<Renewal> renewed = List.copyOf(leases.values());
        if (renewed.isEmpty()) {
            return;
        }
        Set<UUID> held = jdbc.call(connection -> table.renew(connection, renewed));
        for (Renewal lease : renewed) {
            if (!held.contains(lease.token())) {
                leases.remove(lease.token());
            }
        }
    }
}
