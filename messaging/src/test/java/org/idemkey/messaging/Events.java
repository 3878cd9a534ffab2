// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Events that are numbered within their aggregate, and what must be true of their deliveries. */
final class Events {

    private Events() {}

    /** The n-th event of an aggregate; its type is {@code aggregate:n}. */
    static OutboxEvent numbered(String aggregate, int n) {
        return OutboxEvent.of("payment", aggregate, aggregate + ":" + n, "{\"n\": " + n + "}");
    }

    /** Events first to last of an aggregate. */
    static List<OutboxEvent> numbered(String aggregate, int first, int last) {
        List<OutboxEvent> events = new ArrayList<>();
        for (int n = first; n <= last; n++) {
            events.add(numbered(aggregate, n));
        }
        return events;
    }

    /** Appends and commits. */
    static void commit(TestDatabase database, List<OutboxEvent> events) {
        try {
            Transactions.<Void, RuntimeException>run(database.pool(), connection -> {
                Outbox.append(connection, events);
                return null;
            });
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    static void commit(TestDatabase database, OutboxEvent... events) {
        commit(database, List.of(events));
    }

    /** {@code aggregate:n} of deliveries. */
    static List<String> names(Collection<OutboxEvent> deliveries) {
        return deliveries.stream().map(OutboxEvent::eventType).toList();
    }

    /** Of each aggregate, the first deliveries of its events are 1, 2, 3 and so on, up to that many. */
    static void assertInOrderOnceRepetitionsAreDropped(Collection<String> names, Map<String, Integer> expected) {
        Set<String> seen = new HashSet<>();
        Map<String, Integer> last = new HashMap<>();
        for (String name : names) {
            if (seen.add(name)) {
                int colon = name.lastIndexOf(':');
                String aggregate = name.substring(0, colon);
                int n = Integer.parseInt(name.substring(colon + 1));
                assertThat(n)
                        .as("first delivery after %s of %s", last.get(aggregate), aggregate)
                        .isEqualTo(last.getOrDefault(aggregate, 0) + 1);
                last.put(aggregate, n);
            }
        }
        assertThat(last).isEqualTo(expected);
    }
}
