// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import org.idemkey.benchmarks.JavaCode.Owner;
import org.idemkey.benchmarks.ProcessorTime.User;

/** What a request's time goes to, kind by kind of traffic, so that nobody has to guess why a ratio is what it is. */
final class Profile {

    private static final String TEXT = """
            # Where a request's time goes

            Written by `bash benchmarks/run --profile`, beside [benchmarks.md](../benchmarks.md): %s with `pg_stat_statements`,
            Java %s, %d processors for clients, container and server together. One run of %d s for each line, after all traffic
            has taken turns; so figures of one line belong together, and those of two lines differ by whatever else the machine
            did. What follows from them: [ADR 43](../adr/0043-where-the-time-goes.md).

            ## Processor time per request, in microseconds

            As Linux counts it, the kernel's work for each thread included. `JVM` is compiler, garbage collector and all threads
            that neither serve nor send.

            | traffic | connections | requests/s | serving threads | PostgreSQL | clients | JVM | context switches |
            |---|---|---|---|---|---|---|---|
            %s
            ## Statements

            By `pg_stat_statements`; the time is from a statement's beginning to its end, so where processors are short it has
            waiting in it. Commits are not in it.

            | traffic | connections | calls per request | microseconds each | rows each | statement |
            |---|---|---|---|---|---|
            %s
            ## Java code of the serving threads

            By Flight Recorder's samples of running Java code, which neither wait nor are in the kernel.

            | traffic | connections | Idemkey | Jackson, Codec | driver and pool | container | handler |
            |---|---|---|---|---|---|---|
            %s""";

    private static final List<String> PATHS =
            List.of("/unprotected", "/same-transaction", "/lease", "/joined-lease", "/replay");

    private static final String RESET = "SELECT pg_stat_statements_reset()";
    private static final String STATEMENTS = """
            SELECT coalesce(string_agg(line, E'\\n'), '') FROM (
              SELECT concat_ws('|', calls, total_exec_time * 1000 / calls, rows::float8 / calls,
                left(regexp_replace(replace(query, '|', ' '), '\\s+', ' ', 'g'), 60)) AS line
              FROM pg_stat_statements
              WHERE query NOT LIKE '%pg_stat_statements%' AND calls > 9
              ORDER BY total_exec_time DESC LIMIT 6
            ) AS largest""";

    private final Database database;
    private final Application application;
    private final StringBuilder processors = new StringBuilder();
    private final StringBuilder statements = new StringBuilder();
    private final StringBuilder code = new StringBuilder();

    /** @param database with {@code pg_stat_statements} */
    Profile(Database database, Application application) {
        this.database = database;
        this.application = application;
    }

    /** What is measured of one kind of traffic. */
    @FunctionalInterface
    private interface Look {
        void at(Load load, Traffic traffic, String name) throws IOException, InterruptedException;
    }

    /** Profiles each kind of traffic. Flight Recorder comes last: where it begins, much has to be compiled anew. */
    void run(int[] connections, Duration warmUp, Duration length) throws IOException, InterruptedException {
        database.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements");
        each(connections, warmUp, (load, traffic, name) -> count(load, traffic, name, length));
        each(connections, warmUp, (load, traffic, name) -> sample(load, traffic, name, length));
    }

    private void each(int[] connections, Duration warmUp, Look look) throws IOException, InterruptedException {
        for (int clients : connections) {
            try (Load load = new Load(application.port(), clients)) {
                for (String path : PATHS) {
                    Traffic traffic = application.traffic(path);
                    load.run(traffic, warmUp);
                    Compiler.catchUp(warmUp);
                    look.at(load, traffic, path.substring(1) + " | " + clients);
                }
            }
        }
    }

    private void count(Load load, Traffic traffic, String name, Duration length)
            throws IOException, InterruptedException {
        database.text(RESET);
        ProcessorTime before = ProcessorTime.now();
        Load.Round round = load.run(traffic, length);
        ProcessorTime after = ProcessorTime.now();
        processors.append(format("| %s | %,.0f ", name, round.perSecond()));
        for (User user : List.of(User.SERVING_THREADS, User.DATABASE, User.CLIENTS, User.VIRTUAL_MACHINE)) {
            // Less than nothing where a thread has ended meanwhile.
            processors.append(format("| %.0f ", Math.max(0, after.since(before, user)) / 1e3 / round.requests()));
        }
        processors.append(
                format("| %.1f |%n", (double) (after.contextSwitches() - before.contextSwitches()) / round.requests()));
        database.text(STATEMENTS).lines().forEach(line -> {
            String[] fields = line.split("\\|", 4);
            statements.append(format(
                    "| %s | %.2f | %.0f | %.1f | `%s` |%n",
                    name,
                    Double.parseDouble(fields[0]) / round.requests(),
                    Double.parseDouble(fields[1]),
                    Double.parseDouble(fields[2]),
                    fields[3].strip()));
        });
    }

    private void sample(Load load, Traffic traffic, String name, Duration length)
            throws IOException, InterruptedException {
        JavaCode seen = JavaCode.watch(() -> load.run(traffic, length));
        code.append("| ").append(name);
        for (Owner owner :
                List.of(Owner.IDEMKEY, Owner.LIBRARIES, Owner.DRIVER_AND_POOL, Owner.CONTAINER, Owner.HANDLER)) {
            code.append(format(" | %.0f %%", 100 * seen.share(owner)));
        }
        code.append(" |\n");
    }

    /** The page. */
    String text(Duration length) {
        return format(
                TEXT,
                database.version(),
                Runtime.version().feature(),
                Runtime.getRuntime().availableProcessors(),
                length.toSeconds(),
                processors,
                statements,
                code);
    }

    private static String format(String pattern, Object... values) {
        return String.format(Locale.ROOT, pattern, values);
    }
}
