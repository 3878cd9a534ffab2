// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * Three ways to find what has expired, compared: an index of each kind, and partitions that are dropped whole. Not part of
 * {@code benchmarks/run}: a decision between them is made once, and hasn't been made by these figures yet.
 *
 * <p>Each design lives through its retention and three turnovers, with a retention of seconds instead of a day, and
 * autovacuum looking as often in proportion. Clients claim and complete all the time, in two commits; from the first
 * expiry on a cleaner removes whatever has expired.
 */
public final class ExpiryDesigns {

    private static final int THREADS = 8;
    private static final Duration RETENTION = Duration.ofSeconds(Integer.getInteger("retention", 12));
    private static final int TURNOVERS = 3;
    private static final int PARTITIONS = 6;
    private static final int BATCH = 1000;

    private static final String COLUMNS = """
            (scope varchar(64) NOT NULL, key varchar(255) NOT NULL, request_hash varchar(64) NOT NULL,
             claim_token uuid NOT NULL, attempt int NOT NULL DEFAULT 1, lease_until timestamptz, response_code int,
             response_headers jsonb, response_body bytea, created_at timestamptz NOT NULL DEFAULT now(),
             expires_at timestamptz NOT NULL""";

    private final Database database;
    private final HikariDataSource pool;

    private ExpiryDesigns(Database database) {
        this.database = database;
        pool = database.pool(THREADS + 2);
    }

    /** Measures all three on a server of its own, and prints a line for each. */
    public static void main(String[] arguments) throws Exception {
        try (Database database = Database.open()) {
            database.execute("ALTER SYSTEM SET autovacuum_naptime = '1s'");
            database.execute("SELECT pg_reload_conf()");
            ExpiryDesigns designs = new ExpiryDesigns(database);
            String indexed = ", PRIMARY KEY (scope, key)) WITH (fillfactor = 70);";
            designs.measure(
                    "btree",
                    "CREATE TABLE btree " + COLUMNS + indexed + "CREATE INDEX ON btree (expires_at)",
                    () -> designs.deleteBatch("btree"));
            designs.measure(
                    "brin",
                    "CREATE TABLE brin " + COLUMNS + indexed
                            + "CREATE INDEX ON brin USING brin (expires_at) WITH (pages_per_range = 16, autosummarize = on)",
                    () -> designs.deleteBatch("brin"));
            designs.measure(
                    "partitions",
                    "CREATE TABLE partitions " + COLUMNS
                            + ", PRIMARY KEY (scope, key, expires_at)) PARTITION BY RANGE (expires_at)",
                    designs::dropPartitions);
        }
    }

    private void measure(String table, String ddl, Callable<Integer> cleaner) throws Exception {
        database.execute(ddl);
        if (table.equals("partitions")) {
            createPartitions();
        }
        database.execute("CHECKPOINT");
        List<String> sizes = new ArrayList<>();
        String begin = database.text("SELECT pg_current_wal_lsn()");
        Period first = period(table, null);
        double log = database.number("SELECT CAST(pg_current_wal_lsn() - '" + begin + "'::pg_lsn AS bigint)");
        sizes.add(size(table));
        Period cleaned = first;
        for (int turnover = 0; turnover < TURNOVERS; turnover++) {
            cleaned = period(table, cleaner);
            sizes.add(size(table));
        }
        System.out.println(String.format(
                Locale.ROOT,
                "%s: %,.0f requests/s, p99 %.2f ms, %,.0f bytes of WAL each at first; in the last turnover %,.0f requests/s, p99 %.2f ms, %,d rows"
                        + " removed, cleaner busy for %.1f s of %d; MiB after each retention: %s",
                table,
                first.perSecond,
                first.p99,
                log / (first.perSecond * RETENTION.toSeconds()),
                cleaned.perSecond,
                cleaned.p99,
                cleaned.removed,
                cleaned.busySeconds,
                RETENTION.toSeconds(),
                String.join(", ", sizes)));
        database.execute("DROP TABLE " + table);
    }

    private record Period(double perSecond, double p99, long removed, double busySeconds) {}

    private Period period(String table, @Nullable Callable<Integer> cleaner) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(THREADS + 1);
        long deadline = System.nanoTime() + RETENTION.toNanos();
        List<Callable<Histogram>> clients = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            clients.add(() -> client(table, deadline));
        }
        Future<double[]> cleaning = threads.submit(() -> clean(cleaner, deadline));
        Histogram all = new Histogram(3);
        for (Future<Histogram> client : threads.invokeAll(clients)) {
            all.add(client.get());
        }
        double[] cleaned = cleaning.get();
        threads.shutdown();
        return new Period(
                all.getTotalCount() / (double) RETENTION.toSeconds(),
                all.getValueAtPercentile(99) / 1e6,
                (long) cleaned[0],
                cleaned[1]);
    }

    private static double[] clean(@Nullable Callable<Integer> cleaner, long deadline) throws Exception {
        double[] removedAndSeconds = new double[2];
        while (cleaner != null && System.nanoTime() < deadline) {
            long begin = System.nanoTime();
            int removed = cleaner.call();
            removedAndSeconds[0] += removed;
            removedAndSeconds[1] += (System.nanoTime() - begin) / 1e9;
            if (removed == 0 || removed % BATCH != 0) {
                LockSupport.parkNanos(200_000_000);
            }
        }
        return removedAndSeconds;
    }

    private Histogram client(String table, long deadline) throws SQLException {
        Histogram latencies = new Histogram(3);
        while (System.nanoTime() < deadline) {
            long begin = System.nanoTime();
            String key = UUID.randomUUID().toString();
            UUID token = UUID.randomUUID();
            Timestamp expiresAt = Timestamp.from(Instant.now().plus(RETENTION));
            update(
                    "INSERT INTO " + table + " (scope, key, request_hash, claim_token, lease_until, expires_at)"
                            + " VALUES ('a:', ?, repeat('0', 64), ?, now() + interval '30 seconds', ?) ON CONFLICT DO NOTHING",
                    key,
                    token,
                    expiresAt);
            update(
                    "UPDATE " + table
                            + " SET response_code = 201, response_headers = '[[\"Location\", \"/payments/1\"]]',"
                            + " response_body = decode(repeat('ab', 150), 'hex')"
                            + " WHERE scope = 'a:' AND key = ? AND claim_token = ? AND expires_at = ?",
                    key,
                    token,
                    expiresAt);
            latencies.recordValue(System.nanoTime() - begin);
        }
        return latencies;
    }

    private int update(String sql, Object... parameters) throws SQLException {
        try (Connection connection = pool.getConnection();
                PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int i = 0; i < parameters.length; i++) {
                statement.setObject(i + 1, parameters[i]);
            }
            return statement.executeUpdate();
        }
    }

    private int deleteBatch(String table) throws SQLException {
        return update(
                "WITH doomed AS MATERIALIZED (SELECT scope, key FROM " + table + " WHERE expires_at <= now()"
                        + " ORDER BY expires_at LIMIT ? FOR UPDATE SKIP LOCKED) DELETE FROM " + table + " AS k"
                        + " USING doomed AS d WHERE k.scope = d.scope AND k.key = d.key AND k.expires_at <= now()",
                BATCH);
    }

    /** Enough for the whole run, each as long as a part of the retention. */
    private void createPartitions() {
        Instant begin = Instant.now().minus(Duration.ofMinutes(1));
        long step = RETENTION.toMillis() / PARTITIONS;
        Instant end = Instant.now().plus(RETENTION.multipliedBy(TURNOVERS + 3L)).plusSeconds(30);
        int number = 0;
        database.execute(partition(number++, begin, begin.plusSeconds(60)));
        for (Instant from = begin.plusSeconds(60); from.isBefore(end); from = from.plusMillis(step)) {
            database.execute(partition(number++, from, from.plusMillis(step)));
        }
    }

    private static String partition(int number, Instant from, Instant to) {
        return "CREATE TABLE partitions_" + number + " PARTITION OF partitions FOR VALUES FROM ('" + from + "') TO ('"
                + to + "') WITH (fillfactor = 70)";
    }

    /** Drops every partition whose time is over; answers how many rows that were. */
    private int dropPartitions() {
        String expired =
                "SELECT coalesce(string_agg(relname, ','), '') FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid"
                        + " WHERE i.inhparent = 'partitions'::regclass AND CAST(substring(pg_get_expr(c.relpartbound, c.oid)"
                        + " FROM 'TO \\(''(.*)''\\)') AS timestamptz) <= now()";
        String names = database.text(expired);
        int removed = 0;
        for (String name : names.isEmpty() ? new String[0] : names.split(",")) {
            removed += (int) database.number("SELECT count(*) FROM " + name);
            database.execute("SET lock_timeout = '2s'; DROP TABLE " + name);
        }
        return removed;
    }

    private String size(String table) {
        return database.text(
                "SELECT round(coalesce(sum(pg_total_relation_size(c.oid)), 0) / 1048576)::text FROM pg_class c"
                        + " WHERE c.oid = '" + table + "'::regclass OR c.oid IN (SELECT inhrelid FROM pg_inherits"
                        + " WHERE inhparent = '" + table + "'::regclass)");
    }
}
