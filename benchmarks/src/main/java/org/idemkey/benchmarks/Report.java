// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The page {@code docs/benchmarks.md} with its plots, as one full run has measured it. */
final class Report {

    private static final String TEXT = """
            # What idempotency costs

            Written by `bash benchmarks/run`; run it to measure your own machine. This run: %s, %d processors,
            Java %s, %s with `fsync` on, all on one machine.

            The application is a plain servlet in Tomcat, with a HikariCP pool of 16. Each scenario takes turns with its twin,
            which is the same handler in the same container on the same pool, without the filter, in short rounds. So many
            connections each send their next request when they have the answer to their last. A ratio is the scenario's
            requests per second divided by its twin's, in neighbouring rounds; the table has the median, the lowest and the
            highest of all pairs of rounds. The p99 ratio compares the 99th percentile of the latency: less is better.

            The twin `unprotected` makes one insert in auto-commit mode; `two-statement-transaction` makes two inserts in an
            explicit transaction. A first request under protection makes the same ones.

            Before anything counts all traffic takes turns until the JVM has compiled what it shares. Where the time goes:
            [profile.md](benchmarks/profile.md); what follows from that, what was tried and what didn't help:
            [ADR 43](adr/0043-where-the-time-goes.md). Why expiry is as it is: [ADR 42](adr/0042-expiry-by-btree.md).

            | scenario/twin | connections | ratio | lowest to highest | p99 ratio | requests/s | twin's |
            |---|---|---|---|---|---|---|
            %s
            ![Ratios](benchmarks/ratios.png)

            ## Messages

            One thread each. `consumer` is an idempotent consumer whose action is one insert, `plain-insert` that insert in
            auto-commit mode. `relay` takes a full outbox to acknowledged and marked, `plain-producer` sends the same payloads
            from memory, as fast as Kafka's idempotent producer can, on a single-node broker.

            | subject/twin | ratio | lowest to highest | messages/s | twin's |
            |---|---|---|---|---|
            %s
            ## As the table grows

            First requests and replays in same-transaction mode, 8 connections, to the unprotected twin. The keys repeated are
            others' records: the first replay of each takes a round trip more than the next. The smallest table has fewer keys to
            repeat than the 20,000 of the others, so that first replays are fewer there.

            | rows | first requests | lowest to highest | replays | lowest to highest |
            |---|---|---|---|---|
            %s
            ![Growth](benchmarks/growth.png)

            ## Expiry

            %s

            ## The parts by themselves

            JMH, one thread, a store that costs nothing. `fingerprint` is a whole decision of the engine: header, scope and
            SHA-256; `responseCapture` is the filter around a handler that writes so many bytes.

            | part | time | allocated |
            |---|---|---|
            %s""";

    private final String database;
    private final List<Comparison.Result> ratios = new ArrayList<>();
    private final List<Messages.Result> messages = new ArrayList<>();
    private final List<Growth.Point> points = new ArrayList<>();
    private final List<Pieces.Cost> costs = new ArrayList<>();
    private Expiry.@Nullable Result expiry;

    /** @param database its name and version */
    Report(String database) {
        this.database = database;
    }

    void add(Comparison.Result result) {
        ratios.add(result);
    }

    void add(Messages.Result result) {
        messages.add(result);
    }

    void add(Growth.Point point) {
        points.add(point);
    }

    void add(Pieces.Cost cost) {
        costs.add(cost);
    }

    void add(Expiry.Result result) {
        expiry = result;
    }

    /** Writes the page and its plots into a directory. */
    void write(Path directory) throws IOException {
        Path plots = directory.resolve("benchmarks");
        Files.createDirectories(plots);
        Plots.ratios(ratios, plots.resolve("ratios"));
        Plots.growth(points, plots.resolve("growth"));
        Files.writeString(directory.resolve("benchmarks.md"), text());
    }

    private String text() {
        return format(
                TEXT,
                LocalDate.now(ZoneOffset.UTC),
                Runtime.getRuntime().availableProcessors(),
                Runtime.version().feature(),
                database,
                lines(ratios, Report::line),
                lines(messages, Report::line),
                lines(points, Report::line),
                expiry == null ? "Not measured." : text(expiry),
                lines(costs, Report::line));
    }

    private static <T> String lines(List<T> values, Function<T, String> line) {
        StringBuilder lines = new StringBuilder();
        values.forEach(value -> lines.append(line.apply(value)).append('\n'));
        return lines.toString();
    }

    private static String line(Comparison.Result r) {
        return format(
                "| %s | %d | **%.2f** | %.2f to %.2f | %.2f | %,.0f | %,.0f |",
                r.name(),
                r.connections(),
                r.ratio(),
                r.low(),
                r.high(),
                r.p99Ratio(),
                r.perSecond(),
                r.twinPerSecond());
    }

    private static String line(Messages.Result r) {
        return format(
                "| %s | **%.2f** | %.2f to %.2f | %,.0f | %,.0f |",
                r.name(), r.ratio(), r.low(), r.high(), r.perSecond(), r.twinPerSecond());
    }

    private static String line(Growth.Point p) {
        return format(
                "| %,d | **%.2f** | %.2f to %.2f | **%.2f** | %.2f to %.2f |",
                p.rows(),
                p.first().ratio(),
                p.first().low(),
                p.first().high(),
                p.replay().ratio(),
                p.replay().low(),
                p.replay().high());
    }

    private static String line(Pieces.Cost c) {
        return format("| %s | %,.0f ns ± %,.0f | %,.0f bytes |", c.name(), c.nanos(), c.nanosError(), c.bytes());
    }

    private static String text(Expiry.Result e) {
        return format(
                "An `ExpiryCleaner` with a backlog removes %,.0f rows/s where nothing else happens. While it works its backlog off,"
                        + " the p99 of first\nrequests (8 connections) is %.2f times what it is without (%.2f to %.2f).",
                e.rowsPerSecond(), e.p99Ratio(), e.low(), e.high());
    }

    private static String format(String pattern, Object... values) {
        return String.format(Locale.ROOT, pattern, values);
    }
}
