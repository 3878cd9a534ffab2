// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.List;
import java.util.SplittableRandom;
import org.idemkey.faults.Finding.Breach;
import org.idemkey.faults.Options.UsageException;

/** The campaign's command line; {@code fault-injection/run} starts it. */
final class Main {

    /** Every promise was kept. */
    static final int KEPT = 0;

    /** A promise was broken. */
    static final int BROKEN = 1;

    /** The command line is wrong. */
    static final int USAGE = 2;

    /** The campaign could not be run, or proved nothing. */
    static final int FAILED = 3;

    /** What is run: over which database, and with which faults. What is worth keeping goes to {@code home}. */
    @FunctionalInterface
    interface Plan {
        Report run(Options options, Campaign campaign, Path home, Path directory, Children children)
                throws IOException, InterruptedException, SQLException;
    }

    /** What the campaign needs isn't there; the message says what. */
    static final class SkippedException extends IOException {

        private static final long serialVersionUID = 1L;

        SkippedException(String message) {
            super(message);
        }
    }

    private Main() {}

    public static void main(String[] arguments) {
        exit(List.of(arguments), Main::embedded);
    }

    /** A campaign over the server that comes with the build. */
    static Report embedded(Options options, Campaign campaign, Path home, Path directory, Children children)
            throws IOException, InterruptedException, SQLException {
        PostgresServer server = new PostgresServer(
                children,
                PostgresPrograms.embedded(home.resolve("programs")),
                directory.resolve("postgres"),
                Instance.freePort(),
                Database.settings());
        Database database = new Database(server);
        database.create();
        return campaign.run(database, FaultSchedule.of(options.seed(), options.duration()), instances -> {});
    }

    /** Runs a plan and ends this process with its result. */
    static void exit(List<String> arguments, Plan plan) {
        Options options;
        try {
            options = Options.parse(arguments, new SplittableRandom().nextLong(1_000_000));
        } catch (UsageException e) {
            System.err.println(e.getMessage());
            System.exit(USAGE);
            return;
        }
        Children children = new Children();
        // Whatever ends this process in an orderly way, signals included, ends what it has started.
        Runtime.getRuntime().addShutdownHook(new Thread(children::close, "ends children"));
        endAtTheLatest(options);
        System.exit(run(options, plan, children));
    }

    private static void endAtTheLatest(Options options) {
        Thread watchdog = new Thread(
                () -> {
                    try {
                        Thread.sleep(options.duration().plus(Campaign.OVERHEAD).toMillis());
                        System.err.println("the campaign hangs");
                        System.exit(FAILED);
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                },
                "watchdog");
        watchdog.setDaemon(true);
        watchdog.start();
    }

    private static int run(Options options, Plan plan, Children children) {
        Path home = Path.of(System.getProperty("faults.directory", "target/campaign"))
                .toAbsolutePath();
        Path jar = Path.of(System.getProperty("faults.jar", "../example-payments-api/target/payments-api.jar"))
                .toAbsolutePath();
        Path directory = home.resolve(options.mode() + "-" + options.seed() + "-"
                + ProcessHandle.current().pid());
        try {
            Directories.delete(directory);
            Files.createDirectories(directory);
            Report report = plan.run(
                    options,
                    new Campaign(options, new SampleJvm(jar, home), directory, System.out, children),
                    home,
                    directory,
                    children);
            children.close();
            System.out.print(report.details());
            Files.write(
                    directory.resolve("histories.txt"),
                    report.histories().stream().map(History::toString).toList());
            if (report.isClean() && !Boolean.getBoolean("faults.keep")) {
                Directories.delete(directory);
            } else {
                System.out.println("logs, data and histories are left in " + directory);
            }
            System.out.println(report.summary());
            return code(report);
        } catch (SkippedException e) {
            System.out.println("skipped: " + e.getMessage());
            return KEPT;
        } catch (IOException | SQLException e) {
            System.err.println("the campaign could not be run: " + e.getMessage());
            return FAILED;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return FAILED;
        }
    }

    /** The process's exit code for a report. */
    static int code(Report report) {
        if (report.mode() == Mode.UNPROTECTED && report.audit().count(Breach.DUPLICATE) == 0) {
            return FAILED;
        }
        return report.isClean() ? KEPT : BROKEN;
    }
}
