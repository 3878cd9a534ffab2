// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import com.zaxxer.hikari.HikariDataSource;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.apache.catalina.LifecycleException;
import org.idemkey.Idempotency;
import org.idemkey.postgres.JoinedDataSource;
import org.idemkey.postgres.PostgresSchema;
import org.idemkey.postgres.PostgresTransactionStore;
import org.idemkey.servlet.IdempotencyFilter;

/** What becomes of first requests and of replays as the table grows: one table for each size, asked in turns. */
final class Growth {

    private static final int CONNECTIONS = 8;
    private static final int SAMPLE = 20_000;

    private final Database database;

    Growth(Database database) {
        this.database = database;
    }

    /**
     * What was measured at one size.
     *
     * @param first first requests, to the unprotected twin
     * @param replay replays, to the unprotected twin
     */
    record Point(long rows, Comparison.Result first, Comparison.Result replay) {}

    /** Fills a table for each size and measures all of them. */
    List<Point> run(List<Long> sizes, Comparison.Effort effort)
            throws IOException, LifecycleException, InterruptedException {
        HikariDataSource pool = database.pool(16);
        JoinedDataSource joined = JoinedDataSource.of(pool);
        List<Site.Endpoint> endpoints = new ArrayList<>();
        endpoints.add(new Site.Endpoint("/unprotected", Business.oneInsert(pool), null));
        for (long size : sizes) {
            PostgresSchema.create(pool, table(size));
            PostgresTransactionStore store =
                    PostgresTransactionStore.builder(joined).table(table(size)).build();
            endpoints.add(new Site.Endpoint(
                    "/growth-" + size, Business.oneInsert(joined), new IdempotencyFilter(Idempotency.of(store))));
        }
        List<Point> points = new ArrayList<>();
        try (Site site = new Site(endpoints)) {
            for (long size : sizes) {
                try (Load one = new Load(site.port(), 1)) {
                    one.run(Traffic.first("/growth-" + size), 1);
                }
                fill(size);
            }
            // Made when all tables are full: the container closes connections on which nothing has come for a minute.
            try (Load load = new Load(site.port(), CONNECTIONS)) {
                for (long size : sizes) {
                    points.add(measure(size, load, effort));
                }
            }
        }
        return points;
    }

    private static Point measure(long size, Load load, Comparison.Effort effort) throws InterruptedException {
        Traffic twin = Traffic.first("/unprotected");
        String path = "/growth-" + size;
        return new Point(
                size,
                new Comparison("growth/first-request", Traffic.first(path), twin).run(load, CONNECTIONS, effort),
                new Comparison("growth/replay", Traffic.repeated(path, sample(size)), twin)
                        .run(load, CONNECTIONS, effort));
    }

    private static String table(long size) {
        return "idempotency_key_" + size;
    }

    private void fill(long size) {
        String table = table(size);
        String constraint = table + "_pkey";
        String index = table + "_expires_at";
        // The indexes are made afterwards, which is faster.
        database.execute("SET maintenance_work_mem = '512MB';"
                + "CREATE TEMPORARY TABLE pattern AS SELECT * FROM " + table + " LIMIT 1;"
                + "ALTER TABLE " + table + " DROP CONSTRAINT " + constraint + ";"
                + "DROP INDEX " + index + ";"
                + Rows.copies(table, "pattern", size, "interval '0'")
                + "ALTER TABLE " + table + " ADD CONSTRAINT " + constraint + " PRIMARY KEY (scope, key);"
                + "CREATE INDEX " + index + " ON " + table + " (expires_at);");
        database.execute("VACUUM ANALYZE " + table);
        database.execute("CHECKPOINT");
    }

    private static byte[][] sample(long size) {
        SplittableRandom random = new SplittableRandom(size);
        byte[][] keys = new byte[SAMPLE][];
        for (int i = 0; i < SAMPLE; i++) {
            keys[i] = Rows.key(random.nextLong(size) + 1).getBytes(StandardCharsets.US_ASCII);
        }
        return keys;
    }
}
