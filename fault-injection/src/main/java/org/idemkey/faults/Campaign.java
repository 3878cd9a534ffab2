// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;

/**
 * One run: starts two instances, lets clients and faults at them for a while, heals everything, asks once more for each
 * key, lets the relays run dry, stops the instances, and audits what is left. Bounded in time.
 */
final class Campaign {

    /** Short, so that a stopped instance's claims lapse while it is away. */
    static final Duration LEASE = Duration.ofSeconds(2);

    private static final int CLIENTS = 32;
    private static final Duration START_PATIENCE = Duration.ofSeconds(60);

    /** How long clients try to end what is unfinished when the faults are over: recovery and restarts are in it. */
    private static final Duration DRAIN_PATIENCE = Duration.ofSeconds(30);

    private static final Duration HEAL_PATIENCE = Duration.ofSeconds(15);
    private static final Duration VERIFY_PATIENCE = Duration.ofSeconds(40);
    private static final Duration DRY_PATIENCE = Duration.ofSeconds(30);
    private static final Duration STOP_PATIENCE = Duration.ofSeconds(25);
    private static final Duration PROGRESS = Duration.ofSeconds(15);

    /** The longest that a campaign can take beside its faults. */
    static final Duration OVERHEAD = START_PATIENCE
            .multipliedBy(3)
            .plus(DRAIN_PATIENCE)
            .plus(HEAL_PATIENCE.multipliedBy(2))
            .plus(VERIFY_PATIENCE)
            .plus(DRY_PATIENCE)
            .plus(STOP_PATIENCE.multipliedBy(3));

    private final Options options;
    private final SampleJvm jvm;
    private final Path directory;
    private final PrintStream out;
    private final Children children;

    /** Something that happens halfway, beside the faults of the schedule. */
    @FunctionalInterface
    interface Turn {
        void happen(List<Instance> instances) throws IOException, InterruptedException, SQLException;
    }

    /**
     * A run.
     *
     * @param jvm starts the sample API
     * @param directory where the instances' logs go
     * @param out who is told how it goes
     * @param children whom it starts its processes with; closed by the caller
     */
    Campaign(Options options, SampleJvm jvm, Path directory, PrintStream out, Children children) {
        this.options = options;
        this.jvm = jvm;
        this.directory = directory;
        this.out = out;
        this.children = children;
    }

    /** Runs it over a database that is up and empty, and leaves that up. */
    Report run(Database database, List<Fault> schedule, Turn turn)
            throws IOException, InterruptedException, SQLException {
        out.println("mode=" + options.mode() + " seconds=" + options.duration().toSeconds() + " seed=" + options.seed()
                + " planned faults=" + schedule.size());
        Timetable timetable = new Timetable();
        List<Instance> instances = new ArrayList<>();
        try {
            if (!jvm.hasArchive()) {
                try (Instance first = instance("first", jvm.archiving(), database, timetable)) {
                    first.start();
                    awaitStart(first);
                    first.stop(STOP_PATIENCE);
                }
            }
            for (String name : List.of("A", "B")) {
                Instance instance = instance(name, jvm.command(), database, timetable);
                instances.add(instance);
                instance.start();
            }
            for (Instance instance : instances) {
                awaitStart(instance);
            }
            return run(instances, database, schedule, turn, timetable);
        } finally {
            timetable.close();
            for (Instance instance : instances) {
                instance.close();
            }
        }
    }

    private Instance instance(String name, List<String> command, Database database, Timetable timetable)
            throws IOException {
        return new Instance(
                name,
                children,
                timetable,
                command,
                database.address(),
                Map.of("IDEMPOTENCY_MODE", options.mode().toString(), "IDEMPOTENCY_LEASE", LEASE.toString()),
                log(name));
    }

    private void awaitStart(Instance instance) throws IOException, InterruptedException {
        if (!instance.awaitHealthy(START_PATIENCE)) {
            throw new IOException("instance " + instance + " doesn't start: see " + log(instance.toString()));
        }
    }

    private Path log(String instance) {
        return directory.resolve("instance-" + instance + ".log");
    }

    private Report run(
            List<Instance> instances, Database database, List<Fault> schedule, Turn turn, Timetable timetable)
            throws IOException, InterruptedException, SQLException {
        Stopwatch clock = new Stopwatch();
        long length = options.duration().toMillis();
        List<String> troubles = new ArrayList<>();
        try (Fleet fleet = new Fleet(CLIENTS, options.seed(), options.mode(), instances, clock)) {
            Injector injector = new Injector(instances, database, timetable, fleet::ended);
            injector.begin(schedule);
            Future<Void> turning = timetable.done(Duration.ofMillis(length / 2), () -> turn.happen(instances));
            Future<Void> healing = timetable.done(Duration.ofMillis(length), injector::heal);
            timetable.every(
                    PROGRESS,
                    () -> out.println(clock + ": operations=" + fleet.operations() + " faults=" + injector.count()));
            fleet.run(length, length + DRAIN_PATIENCE.toMillis());
            await(turning);
            await(healing);
            for (Instance instance : instances) {
                if (!instance.awaitHealthy(HEAL_PATIENCE)) {
                    troubles.add("instance " + instance + " didn't come back: see " + log(instance.toString()));
                }
            }
            fleet.verify(options.mode() != Mode.UNPROTECTED, clock.millis() + VERIFY_PATIENCE.toMillis());
            long undelivered = awaitDry(database);
            if (undelivered > 0) {
                troubles.add(undelivered + " events were not delivered within " + DRY_PATIENCE.toSeconds() + " s");
            }
            for (Instance instance : instances) {
                if (!instance.stop(STOP_PATIENCE)) {
                    troubles.add("instance " + instance + " didn't end when it was asked to");
                }
            }
            Exception failure = timetable.failure();
            if (failure != null) {
                throw new IOException("a fault could not be put in, or not be mended", failure);
            }
            List<History> histories = fleet.histories();
            Audit.Result audit = Audit.of(options.mode(), histories, database.books());
            int ownExits = instances.stream().mapToInt(Instance::ownExits).sum();
            return new Report(
                    options.mode(), histories, injector.done(), injector.skipped(), ownExits, audit, troubles);
        }
    }

    /** Waits until the relays have nothing left to do; answers how many events they haven't delivered all the same. */
    private static long awaitDry(Database database) throws SQLException, InterruptedException {
        long deadline = System.nanoTime() + DRY_PATIENCE.toNanos();
        long left = database.undelivered();
        while (left > 0 && System.nanoTime() < deadline) {
            Thread.sleep(50);
            left = database.undelivered();
        }
        return left;
    }

    private static void await(Future<Void> done) throws InterruptedException {
        try {
            done.get();
        } catch (ExecutionException e) {
            throw new AssertionError("a timetable notes failures by itself", e);
        }
    }
}
