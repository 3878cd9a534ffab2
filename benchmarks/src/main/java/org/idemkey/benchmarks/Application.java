// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import com.zaxxer.hikari.HikariDataSource;
import jakarta.servlet.Filter;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.apache.catalina.LifecycleException;
import org.idemkey.Idempotency;
import org.idemkey.IdempotencyStore;
import org.idemkey.cache.ReplayCache;
import org.idemkey.postgres.JoinedDataSource;
import org.idemkey.postgres.PostgresJoinedLeaseStore;
import org.idemkey.postgres.PostgresLeaseStore;
import org.idemkey.postgres.PostgresSchema;
import org.idemkey.postgres.PostgresTransactionStore;
import org.idemkey.servlet.IdempotencyFilter;
import org.jspecify.annotations.Nullable;

/**
 * One container, one pool, one schema, and an endpoint for each way to protect a handler, or not to. Keys of all ways lie
 * in one table.
 */
final class Application implements AutoCloseable {

    private static final int POOL_SIZE = 16;

    /** So many keys take turns where requests are repeated. */
    private static final int REPEATED = 2000;

    private final Database database;
    private final PostgresLeaseStore leases;
    private final PostgresJoinedLeaseStore joinedLeases;
    private final Map<String, Handler> handlers = new LinkedHashMap<>();
    private final Site site;
    private final byte[][] repeatedKeys = Traffic.newKeys(REPEATED);
    private final byte[][] cachedKeys = Traffic.newKeys(REPEATED);

    private boolean prepared;

    /** What answers at a path, and whether that is protected. */
    private record Handler(Business business, boolean protects, boolean inserts) {}

    Application(Database database) throws IOException, LifecycleException {
        this.database = database;
        HikariDataSource pool = database.pool(POOL_SIZE);
        JoinedDataSource joined = JoinedDataSource.of(pool);
        PostgresSchema.create(pool);
        database.execute(Business.TABLES);
        leases = PostgresLeaseStore.create(pool);
        joinedLeases = PostgresJoinedLeaseStore.create(joined);
        IdempotencyStore transactions = PostgresTransactionStore.create(joined);

        List<Site.Endpoint> endpoints = new ArrayList<>();
        add(endpoints, "/unprotected", Business.oneInsert(pool), null);
        add(endpoints, "/same-transaction", Business.oneInsert(joined), transactions);
        add(endpoints, "/lease", Business.oneInsert(pool), leases);
        add(endpoints, "/joined-lease", Business.oneInsert(joined), joinedLeases);
        add(endpoints, "/replay", Business.oneInsert(joined), transactions);
        add(endpoints, "/cached-replay", Business.oneInsert(joined), ReplayCache.of(transactions));
        add(endpoints, "/two-statement-transaction", Business.twoStatements(pool), null);
        add(endpoints, "/same-transaction-two-statements", Business.twoStatements(joined), transactions);
        add(endpoints, "/no-filter", Business.nothing(), null);
        add(endpoints, "/pass-through", Business.nothing(), transactions);
        site = new Site(endpoints);
    }

    private void add(List<Site.Endpoint> endpoints, String path, Business business, @Nullable IdempotencyStore store) {
        Filter filter = store == null ? null : new IdempotencyFilter(Idempotency.of(store));
        endpoints.add(new Site.Endpoint(path, business, filter));
        boolean empty = path.equals("/no-filter") || path.equals("/pass-through");
        handlers.put(path, new Handler(business, store != null && !empty, !empty));
    }

    int port() {
        return site.port();
    }

    /** Every comparison, in the order of the report. The keys to be repeated have to be {@link #prepare}d. */
    List<Comparison> comparisons() {
        Traffic unprotected = Traffic.first("/unprotected");
        return List.of(
                new Comparison("same-transaction/unprotected", Traffic.first("/same-transaction"), unprotected),
                new Comparison("lease/unprotected", Traffic.first("/lease"), unprotected),
                new Comparison("joined-lease/unprotected", Traffic.first("/joined-lease"), unprotected),
                new Comparison("replay/unprotected", Traffic.repeated("/replay", repeatedKeys), unprotected),
                new Comparison(
                        "cached-replay/unprotected", Traffic.repeated("/cached-replay", cachedKeys), unprotected),
                new Comparison(
                        "same-transaction/two-statement-transaction",
                        Traffic.first("/same-transaction-two-statements"),
                        Traffic.first("/two-statement-transaction")),
                new Comparison(
                        "pass-through/no-filter",
                        Traffic.unprotected("/pass-through"),
                        Traffic.unprotected("/no-filter")));
    }

    /** The traffic to a path, as the comparisons have it. */
    Traffic traffic(String path) {
        return comparisons().stream()
                .flatMap(comparison -> Stream.of(comparison.subject(), comparison.twin()))
                .filter(traffic -> traffic.path().equals(path))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(path));
    }

    /** Runs the requests that will be repeated for the first time, once. */
    void prepare() throws IOException, InterruptedException {
        if (prepared) {
            return;
        }
        prepared = true;
        int connections = 8;
        try (Load load = new Load(port(), connections)) {
            load.run(Traffic.each("/replay", repeatedKeys), REPEATED / connections);
            load.run(Traffic.each("/cached-replay", cachedKeys), REPEATED / connections);
        }
    }

    /** A store over the table of all keys. */
    IdempotencyStore store() {
        return leases;
    }

    /** How often the handler at this path has run. */
    long executions(String path) {
        Handler handler = handlers.get(path);
        if (handler == null) {
            throw new IllegalArgumentException(path);
        }
        return handler.business().executions();
    }

    /**
     * Checks that what was measured has happened: each execution has left its payment, and each protected one its key
     * with a response, for those who will send it again.
     */
    void audit() {
        require("payments", "SELECT count(*) FROM payment", executions(Handler::inserts));
        require("completed keys", "SELECT count(response_body) FROM idempotency_key", executions(Handler::protects));
    }

    private long executions(Predicate<Handler> kind) {
        return handlers.values().stream()
                .filter(kind)
                .mapToLong(handler -> handler.business().executions())
                .sum();
    }

    private void require(String what, String sql, long expected) {
        long found = database.number(sql);
        if (found != expected) {
            throw new IllegalStateException(found + " " + what + " after " + expected + " executions");
        }
    }

    @Override
    public void close() throws LifecycleException, IOException {
        site.close();
        joinedLeases.close();
        leases.close();
    }
}
