// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.idemkey.faults.Fault.Kind;

/**
 * The campaign with a failover: a primary and its synchronous standby, both of the machine's own PostgreSQL. Halfway the
 * primary is killed, with all of its processes, and the standby promoted. {@code fault-injection/failover} starts it.
 */
final class Failover {

    /** The oldest version that this is tried with. */
    private static final int OLDEST = 15;

    private static final String STANDBY = "standby";
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /**
     * All but two. A terminated backend, and a primary that starts again, let others see what is committed here, but not
     * on the standby (PostgreSQL's documentation, 26.2.8): what synchronous replication doesn't promise, nobody can keep.
     */
    private static final Set<Kind> FAULTS = EnumSet.complementOf(EnumSet.of(Kind.BACKEND, Kind.DATABASE));

    private Failover() {}

    public static void main(String[] arguments) {
        Main.exit(List.of(arguments), Failover::run);
    }

    private static Report run(Options options, Campaign campaign, Path home, Path directory, Children children)
            throws IOException, InterruptedException, SQLException {
        PostgresPrograms programs = PostgresPrograms.installed(OLDEST)
                .orElseThrow(() -> new Main.SkippedException("failover needs " + PostgresPrograms.NEEDED
                        + " of PostgreSQL " + OLDEST + " or newer, and found none in " + PostgresPrograms.PLACES));
        System.out.println("programs of " + programs.bin());
        Map<String, String> settings = new HashMap<>(Database.settings());
        PostgresServer primary =
                new PostgresServer(children, programs, directory.resolve("primary"), Instance.freePort(), settings);
        // The command line wins over what was copied: once promoted, it waits for nobody.
        settings.put("synchronous_standby_names", "");
        PostgresServer standby =
                new PostgresServer(children, programs, directory.resolve(STANDBY), Instance.freePort(), settings);
        Database database = new Database(primary);
        database.create();
        standby.copyFrom(primary, STANDBY);
        standby.start();
        makeSynchronous(primary);
        return campaign.run(
                database,
                FaultSchedule.of(options.seed(), options.duration(), FAULTS),
                instances -> failOver(primary, standby, database, instances));
    }

    private static void makeSynchronous(PostgresServer primary) throws SQLException, IOException, InterruptedException {
        try (Connection connection = primary.connect("postgres");
                Statement statement = connection.createStatement()) {
            statement.execute("ALTER SYSTEM SET synchronous_standby_names = '" + STANDBY + "'");
            statement.execute("SELECT pg_reload_conf()");
            long deadline = System.nanoTime() + PATIENCE.toNanos();
            while (!isSynchronous(statement)) {
                if (System.nanoTime() > deadline) {
                    throw new IOException("the standby doesn't follow");
                }
                Thread.sleep(50);
            }
        }
    }

    private static boolean isSynchronous(Statement statement) throws SQLException {
        try (ResultSet rows = statement.executeQuery(
                "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'sync'")) {
            return rows.next();
        }
    }

    private static void failOver(
            PostgresServer primary, PostgresServer standby, Database database, List<Instance> instances)
            throws InterruptedException, SQLException, IOException {
        Stopwatch watch = new Stopwatch();
        primary.kill();
        try (Connection connection = standby.connect("postgres");
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT pg_promote(true, " + PATIENCE.toSeconds() + ")")) {
            if (!row.next() || !row.getBoolean(1)) {
                throw new IOException("the standby could not be promoted");
            }
        }
        database.moveTo(standby);
        for (Instance instance : instances) {
            instance.databaseSide().pointTo(standby.address());
            instance.databaseSide().cut();
        }
        System.out.println("failover: the primary was killed, the standby promoted within " + watch);
    }
}
