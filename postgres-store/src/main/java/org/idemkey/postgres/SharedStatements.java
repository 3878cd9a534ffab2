// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static java.util.Objects.requireNonNull;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.idemkey.Bytes;
import org.idemkey.Lease;
import org.idemkey.StoredResponse;
import org.idemkey.postgres.KeyBatches.Ending;
import org.idemkey.postgres.KeyTable.Request;
import org.idemkey.postgres.KeyTable.Seen;

/**
 * Claims, completions and releases of concurrent requests travel together: one statement, one commit, one connection for
 * all that have come while the one before was on its way. Each kind has one connection at a time, so a store never holds
 * more than three of them for any number of requests.
 */
final class SharedStatements {

    private static final int MAX_QUESTIONS = 64;
    private static final long MAX_BYTES = 4 << 20;

    private final SharedCalls<Request, Optional<Seen>> claims;
    private final SharedCalls<Ending, Boolean> completions;
    private final SharedCalls<Ending, Boolean> releases;

    /** @param patience how long a request waits for its turn */
    SharedStatements(Jdbc jdbc, KeyTable table, KeyBatches batches, Duration patience) {
        SharedCalls.Limits limits = new SharedCalls.Limits(1, MAX_QUESTIONS, MAX_BYTES, patience);
        claims = new SharedCalls<>(
                limits,
                request -> 1,
                requests -> jdbc.call(connection -> requests.size() == 1
                        ? List.of(table.claim(connection, requests.get(0)))
                        : batches.claim(connection, requests)));
        completions = new SharedCalls<>(
                limits,
                SharedStatements::bytes,
                endings -> jdbc.call(connection -> endings.size() == 1
                        ? List.of(completeOne(table, connection, endings.get(0)))
                        : batches.complete(connection, endings)));
        releases = new SharedCalls<>(
                limits,
                ending -> 1,
                endings -> jdbc.call(connection -> endings.size() == 1
                        ? List.of(table.release(
                                connection, endings.get(0).key(), endings.get(0).token()))
                        : batches.release(connection, endings)));
    }

    private static boolean completeOne(KeyTable table, Connection connection, Ending ending) throws SQLException {
        return table.complete(connection, ending.key(), ending.token(), requireNonNull(ending.response()));
    }

    private static long bytes(Ending ending) {
        StoredResponse response = ending.response();
        return response == null ? 0 : response.body().map(Bytes::length).orElse(0);
    }

    /** As {@link KeyTable#claim}. */
    Optional<Seen> claim(Request request) throws SQLException {
        return claims.ask(request);
    }

    /** As {@link KeyTable#complete}. */
    boolean complete(Lease lease, StoredResponse response) throws SQLException {
        return completions.ask(new Ending(lease.key(), lease.token(), response));
    }

    /** As {@link KeyTable#release}. */
    boolean release(Lease lease) throws SQLException {
        return releases.ask(new Ending(lease.key(), lease.token(), null));
    }
}
