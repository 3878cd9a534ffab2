// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import org.idemkey.faults.Fault.Kind;
import org.idemkey.faults.TcpProxy.Direction;
import org.idemkey.faults.Trap.Passing;

/** Does to the service what the schedule says, and counts what was really done. Thread-safe. */
final class Injector {

    /** How long a trap waits for its prey before the same is done without waiting. */
    private static final long TRAP_MILLIS = 1_500;

    private final List<Instance> instances;
    private final Database database;
    private final Timetable timetable;
    private final Map<Kind, Integer> done = new EnumMap<>(Kind.class);
    private final LongSupplier progress;
    private long progressBefore = -1;
    private int skipped;
    private volatile boolean over;

    /**
     * An injector.
     *
     * @param progress how many requests have come to an end: a fault waits for its own time only, but is left out where
     *     the service has ended none since the last one, for that would only show that it is down
     */
    Injector(List<Instance> instances, Database database, Timetable timetable, LongSupplier progress) {
        this.instances = List.copyOf(instances);
        this.database = database;
        this.timetable = timetable;
        this.progress = progress;
    }

    /** Puts the whole schedule on the clock; its times count from now. */
    void begin(List<Fault> schedule) {
        for (Fault fault : schedule) {
            timetable.after(fault.at(), () -> inject(fault));
        }
    }

    /** No more faults; whatever lasts is ended, and everything that isn't running is started. */
    void heal() throws IOException, InterruptedException {
        over = true;
        database.heal();
        for (Instance instance : instances) {
            instance.heal();
        }
    }

    private void inject(Fault fault) {
        if (over || !isWorth()) {
            return;
        }
        try {
            if (happens(fault)) {
                count(fault.kind());
            }
        } catch (IOException | SQLException e) {
            // The server was down already, for instance: then this one didn't happen, and isn't counted.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized boolean isWorth() {
        long now = progress.getAsLong();
        if (now == progressBefore) {
            skipped++;
            return false;
        }
        progressBefore = now;
        return true;
    }

    /** How many faults were left out, because the service had not got over the ones before. */
    synchronized int skipped() {
        return skipped;
    }

    private synchronized void count(Kind kind) {
        done.merge(kind, 1, Integer::sum);
    }

    /** How much was done. */
    synchronized int count() {
        return done.values().stream().mapToInt(Integer::intValue).sum();
    }

    /** What was done, by kind. */
    synchronized Map<Kind, Integer> done() {
        return Map.copyOf(done);
    }

    private boolean happens(Fault fault) throws IOException, InterruptedException, SQLException {
        Instance instance = instances.get(fault.instance());
        TcpProxy clients = instance.clientSide();
        TcpProxy connections = instance.databaseSide();
        int nth = 1 + fault.pick() % 4;
        return switch (fault.kind()) {
            case KILL -> instance.kill();
            case KILL_ON_REQUEST ->
                trapped(clients, Direction.TO_SERVER, REQUEST, 1, Passing.ALL, () -> {
                            linger(fault.pick() % 8);
                            instance.kill();
                        })
                        || instance.kill();
            case KILL_ON_INSERT ->
                trapped(connections, Direction.TO_CLIENT, INSERTED, nth, Passing.NOTHING, instance::kill)
                        || instance.kill();
            case KILL_ON_COMMIT ->
                trapped(connections, Direction.TO_CLIENT, committed(fault), 1, Passing.NOTHING, instance::kill)
                        || instance.kill();
            case KILL_ON_ANSWER ->
                trapped(clients, Direction.TO_CLIENT, ANSWER, 1, Passing.NOTHING, instance::kill) || instance.kill();
            case PAUSE -> instance.pause(fault.length());
            case BACKEND -> database.terminateBackend(fault.pick());
            case DATABASE -> {
                database.crash(fault.length());
                yield true;
            }
            case CUT -> connections.cut() > 0;
            case CUT_ON_INSERT ->
                trapped(connections, Direction.TO_CLIENT, INSERTED, nth, Passing.NOTHING, () -> {})
                        || connections.cut() > 0;
            case CUT_ON_COMMIT ->
                trapped(connections, Direction.TO_CLIENT, committed(fault), 1, Passing.NOTHING, () -> {})
                        || connections.cut() > 0;
            case STALL -> {
                connections.stall();
                yield endsAfter(fault.length(), connections);
            }
            case DELAY -> {
                connections.delay(5 + fault.pick() % 120);
                yield endsAfter(fault.length(), connections);
            }
            case CLIENT_GONE -> trapped(clients, Direction.TO_SERVER, REQUEST, 1, Passing.ALL, () -> {});
            case ANSWER_LOST -> trapped(clients, Direction.TO_CLIENT, ANSWER, 1, Passing.NOTHING, () -> {});
            case ANSWER_TORN -> trapped(clients, Direction.TO_CLIENT, ANSWER, 1, Passing.HALF, () -> {});
        };
    }

    private static final List<String> REQUEST = List.of("POST /payments ");
    private static final List<String> ANSWER = List.of("HTTP/1.1 ");

    /** The command tags by which PostgreSQL tells of a statement's success. */
    private static final List<String> INSERTED = List.of("INSERT 0 ");

    private static List<String> committed(Fault fault) {
        return fault.pick() % 2 == 0 ? List.of("COMMIT\0") : List.of("COMMIT\0", "UPDATE ");
    }

    private static boolean trapped(
            TcpProxy proxy, Direction direction, List<String> wanted, int nth, Passing passing, Runnable action)
            throws InterruptedException {
        Trap trap = new Trap(direction, wanted, nth, passing, action);
        proxy.set(trap);
        try {
            return trap.await(TRAP_MILLIS);
        } finally {
            proxy.remove(trap);
        }
    }

    private static void linger(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean endsAfter(Duration length, TcpProxy proxy) {
        timetable.after(length, proxy::heal);
        return true;
    }
}
