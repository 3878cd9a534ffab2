// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.idemkey.benchmarks.Comparison.Effort;
import org.idemkey.benchmarks.Comparison.Result;
import org.idemkey.testkafka.TestKafka;

/** Measures, tells, and leaves a report; {@code benchmarks/run} starts it in the project's root. */
public final class Benchmarks {

    private static final int[] CONNECTIONS = {8, 32};
    private static final List<Long> SIZES = List.of(10_000L, 100_000L, 1_000_000L, 10_000_000L);
    private static final long EXPIRED = 3_000_000;
    private static final int CONSUMED = 1_000;
    private static final int RELAYED = 5_000;
    private static final int MESSAGE_PAIRS = 7;

    private static final Effort QUICK =
            new Effort(3, Duration.ofMillis(100), Duration.ofSeconds(1), Duration.ofMillis(150), 5);
    private static final Effort FULL =
            new Effort(12, Duration.ofMillis(300), Duration.ofSeconds(5), Duration.ofMillis(500), 15);

    private static final Duration PROFILED = Duration.ofSeconds(4);

    private Benchmarks() {}

    /** Takes {@code --quick}, {@code --messages} or {@code --profile}, and {@code --json}; ends with status 2 for anything else. */
    public static void main(String[] arguments) throws Exception {
        Options options;
        try {
            options = Options.parse(arguments);
        } catch (IllegalArgumentException e) {
            System.err.println("benchmarks: " + e.getMessage());
            System.exit(2);
            return;
        }
        Output output = options.json() ? Output.json(System.out) : Output.table(System.out);
        try (Database database = options.profile() ? Database.openToProfile() : Database.open()) {
            if (options.profile()) {
                profile(database);
            } else if (options.quick()) {
                ratios(database, QUICK, output);
            } else if (options.messages()) {
                messages(database, output);
            } else {
                full(database, output);
            }
        }
    }

    private static void full(Database database, Output output) throws Exception {
        Report report = new Report(database.version());
        for (Pieces.Cost cost : Pieces.run()) {
            output.piece(cost);
            report.add(cost);
        }
        try (Application application = new Application(database)) {
            compare(application, FULL, output).forEach(report::add);
            Expiry.Result expiry = new Expiry(database, application.store()).run(application.port(), EXPIRED, FULL);
            output.expiry(expiry);
            report.add(expiry);
        }
        messages(database, output).forEach(report::add);
        for (Growth.Point point : new Growth(database).run(SIZES, FULL)) {
            output.growth(point);
            report.add(point);
        }
        report.write(Path.of("docs"));
    }

    private static List<Messages.Result> messages(Database database, Output output) throws Exception {
        List<Messages.Result> results =
                new Messages(database, TestKafka.shared()).run(CONSUMED, RELAYED, MESSAGE_PAIRS);
        results.forEach(output::messages);
        return results;
    }

    private static void profile(Database database) throws Exception {
        try (Application application = new Application(database)) {
            application.prepare();
            warmUp(application, FULL);
            Profile profile = new Profile(database, application);
            profile.run(CONNECTIONS, PROFILED, PROFILED);
            application.audit();
            String page = profile.text(PROFILED);
            Files.writeString(Path.of("docs", "benchmarks", "profile.md"), page);
            System.out.print(page);
        }
    }

    private static void ratios(Database database, Effort effort, Output output) throws Exception {
        try (Application application = new Application(database)) {
            compare(application, effort, output);
        }
    }

    /** Every comparison at every number of connections, and the proof that what was measured has happened. */
    static List<Result> compare(Application application, Effort effort, Output output) throws Exception {
        List<Result> results = new ArrayList<>();
        application.prepare();
        warmUp(application, effort);
        for (int connections : CONNECTIONS) {
            try (Load load = new Load(application.port(), connections)) {
                for (Comparison comparison : application.comparisons()) {
                    Result result = comparison.run(load, connections, effort);
                    output.result(result);
                    results.add(result);
                }
            }
        }
        application.audit();
        return results;
    }

    private static void warmUp(Application application, Effort effort) throws IOException, InterruptedException {
        try (Load load = new Load(application.port(), CONNECTIONS[0])) {
            for (int i = 0; i < effort.turns(); i++) {
                for (Comparison comparison : application.comparisons()) {
                    load.run(comparison.twin(), effort.warmUp());
                    load.run(comparison.subject(), effort.warmUp());
                }
                Compiler.catchUp(effort.rest());
            }
        }
    }
}
