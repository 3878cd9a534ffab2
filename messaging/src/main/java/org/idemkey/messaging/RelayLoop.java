// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * What a relay's thread does: batch after batch while there is something, then waits.
 *
 * <table>
 * <caption>What follows a batch</caption>
 * <tr><th>outcome</th><th>next</th></tr>
 * <tr><td>something was acknowledged</td><td>another batch at once; what failed waits by itself</td></tr>
 * <tr><td>all failed, and not only what had failed before</td><td>the broker may be away: back off, then try one event,
 *     until something is acknowledged</td></tr>
 * <tr><td>nothing to do</td><td>until the next poll, a wake-up, or the end of a failed aggregate's wait</td></tr>
 * <tr><td>all that is near is with other relays</td><td>look further ahead at once</td></tr>
 * <tr><td>the database failed</td><td>back off</td></tr>
 * </table>
 */
final class RelayLoop implements Runnable {

    private static final System.Logger LOG = System.getLogger("org.idemkey.messaging.OutboxRelay");

    /** How many events are looked at to fill a batch: four relays find work side by side without looking further. */
    private static final int WINDOW = 4;

    /** How far to look ahead at most, in windows. */
    private static final int FURTHEST = 64;

    /** The part of a batch that one aggregate may be: what goes one by one must not be the whole of a long queue. */
    private static final int SHARE = 10;

    record Settings(int batchSize, Duration pollInterval, Duration publishTimeout, Duration maxBackOff) {}

    private final DataSource dataSource;
    private final MessagePublisher publisher;
    private final RelayListener listener;
    private final Settings settings;
    private final BackOff backOff;
    private final Suspects suspects;
    private final Semaphore wakeUps = new Semaphore(0);
    private final CountDownLatch stopped = new CountDownLatch(1);

    /** Batches in a row by which the broker seemed away, and transactions in a row that failed. */
    private int brokerFailures;

    private int databaseFailures;
    private int windows = 1;

    RelayLoop(DataSource dataSource, MessagePublisher publisher, RelayListener listener, Settings settings) {
        this.dataSource = dataSource;
        this.publisher = publisher;
        this.listener = listener;
        this.settings = settings;
        backOff = new BackOff(settings.maxBackOff());
        suspects = new Suspects(backOff);
    }

    void wake() {
        wakeUps.release();
    }

    void stop() {
        stopped.countDown();
        wakeUps.release();
    }

    private boolean isStopped() {
        return stopped.getCount() == 0;
    }

    @Override
    public void run() {
        try {
            while (!isStopped()) {
                step();
            }
        } catch (InterruptedException e) {
            // By close(), whose caller waits no longer.
        }
    }

    /** What a transaction came to: a batch that has run, and how much it had looked at. */
    private record Round(@Nullable Batch batch, int seen) {}

    private void step() throws InterruptedException {
        int window = settings.batchSize() * WINDOW * windows;
        Round round;
        // Before the look, so that a wake-up after it is not lost.
        wakeUps.drainPermits();
        try {
            round = Transactions.<Round, InterruptedException>run(dataSource, connection -> {
                int limit = brokerFailures > 0 ? 1 : settings.batchSize();
                int share = Math.max(1, settings.batchSize() / SHARE);
                OutboxTable.Fetched fetched = OutboxTable.fetch(connection, window, limit, share, suspects.waiting());
                if (fetched.events().isEmpty()) {
                    return new Round(null, fetched.seen());
                }
                Batch batch = new Batch(fetched.events(), publisher, settings.publishTimeout(), this::isStopped);
                batch.run();
                if (!batch.acknowledged().isEmpty()) {
                    OutboxTable.mark(connection, batch.acknowledged());
                }
                return new Round(batch, fetched.seen());
            });
        } catch (SQLException | RuntimeException e) {
            databaseFailed(e);
            return;
        }
        databaseFailures = 0;
        if (round.batch != null) {
            conclude(round.batch);
        } else if (round.seen == window && windows < FURTHEST) {
            windows *= 2;
        } else {
            windows = 1;
            awaitWork();
        }
    }

    private void conclude(Batch batch) throws InterruptedException {
        List<OutboxEvent> acknowledged = batch.acknowledged();
        for (OutboxEvent event : acknowledged) {
            suspects.clear(Aggregate.of(event));
            report(RelayListener.Event.PUBLISHED, event, null);
        }
        boolean news = false;
        for (Map.Entry<OutboxEvent, Throwable> failure : batch.failed().entrySet()) {
            news |= suspects.add(Aggregate.of(failure.getKey()));
            report(RelayListener.Event.FAILED, failure.getKey(), failure.getValue());
        }
        if (!acknowledged.isEmpty()) {
            if (brokerFailures > 0) {
                LOG.log(System.Logger.Level.INFO, "events are acknowledged again");
                brokerFailures = 0;
                suspects.forgive();
            }
        } else if (news) {
            brokerFailures++;
            if (brokerFailures == 1) {
                Throwable cause = batch.failed().values().iterator().next();
                LOG.log(System.Logger.Level.WARNING, "no event was acknowledged; trying again", cause);
            }
            stopped.await(backOff.nanosAfter(brokerFailures), TimeUnit.NANOSECONDS);
        }
    }

    private void databaseFailed(Exception e) throws InterruptedException {
        databaseFailures++;
        if (databaseFailures == 1) {
            LOG.log(System.Logger.Level.WARNING, "the outbox could not be read or marked; trying again", e);
        }
        report(RelayListener.Event.DATABASE_FAILED, null, e);
        stopped.await(backOff.nanosAfter(databaseFailures), TimeUnit.NANOSECONDS);
    }

    private void awaitWork() throws InterruptedException {
        long nanos = suspects.nanosToNext(settings.pollInterval().toNanos());
        if (wakeUps.tryAcquire(nanos, TimeUnit.NANOSECONDS)) {
            wakeUps.drainPermits();
        }
    }

    private void report(RelayListener.Event event, @Nullable OutboxEvent message, @Nullable Throwable cause) {
        try {
            listener.on(event, message, cause);
        } catch (RuntimeException e) {
            // Watching must not change what is watched.
        }
    }
}
