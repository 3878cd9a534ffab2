// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.lang.System.Logger.Level;
import java.sql.SQLException;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.idemkey.IdempotencyStoreException;
import org.idemkey.Lease;
import org.idemkey.StoredResponse;
import org.idemkey.postgres.KeyTable.Renewal;
import org.idemkey.postgres.KeyTable.Request;
import org.jspecify.annotations.Nullable;

/**
 * What a process does for its claims in the background, in one daemon thread: renews leases whenever a third of the
 * shortest is over, and writes late what could not be written in time. A database that is away is asked again and again.
 */
final class Keeper implements AutoCloseable {

    private static final System.Logger LOG = System.getLogger(Keeper.class.getName());
    private static final long NEVER = Long.MAX_VALUE;
    private static final long RETRY = Duration.ofSeconds(1).toNanos();

    /** How long a statement may still be at work after its connection broke. */
    private static final Duration STRAGGLING = Duration.ofSeconds(30);

    private final KeyTable table;
    private final Renewals renewals;
    private final LateWrites writes;
    private final long started = System.nanoTime();

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private long renewAt = NEVER;
    private long writeAt = NEVER;
    private @Nullable Thread thread;
    private boolean closed;
    private volatile boolean away;

    Keeper(Jdbc jdbc, KeyTable table, long maxBytes) {
        this.table = table;
        renewals = new Renewals(jdbc, table);
        writes = new LateWrites(jdbc, table, renewals, maxBytes);
    }

    Renewals renewals() {
        return renewals;
    }

    LateWrites writes() {
        return writes;
    }

    /** Null until there is something to do. */
    @Nullable
    Thread thread() {
        lock.lock();
        try {
            return thread;
        } finally {
            lock.unlock();
        }
    }

    void requireOpen() {
        if (!isOpen()) {
            throw new IdempotencyStoreException("the store is closed", null);
        }
    }

    private boolean isOpen() {
        lock.lock();
        try {
            return !closed;
        } finally {
            lock.unlock();
        }
    }

    /** Keeps a claim alive from now on. */
    void watch(Request request) {
        Duration lease = request.terms().lease();
        renewals.add(new Renewal(request.key(), request.token(), lease));
        wake(now() + third(lease), NEVER);
    }

    /** Lets a claim be: it has ended. */
    void forget(UUID token) {
        renewals.remove(token);
    }

    /** Takes over the recording of a response, and answers whether there is room for it. */
    boolean defer(Lease lease, StoredResponse response) {
        return isOpen() && writes.add(lease, response, Duration.ZERO) && wake(NEVER, now());
    }

    /** Takes over a release. The lease is not renewed meanwhile. */
    void deferRelease(Lease lease) {
        forget(lease.token());
        deferRelease(lease, Duration.ZERO);
    }

    /** Frees a claim that may or may not have been made, and that nobody will run for. */
    void abandon(Request request) {
        Lease lease = new PostgresLease(table, request.key(), request.token(), 1);
        deferRelease(lease, STRAGGLING);
    }

    private void deferRelease(Lease lease, Duration insist) {
        if (isOpen() && writes.add(lease, null, insist)) {
            wake(NEVER, now());
        }
    }

    /** Sees to it that the thread is up by then; answers false if there will be no thread any more. */
    private boolean wake(long renewal, long writing) {
        lock.lock();
        try {
            if (closed) {
                return false;
            }
            if (renewal < renewAt || writing < writeAt) {
                renewAt = Math.min(renewAt, renewal);
                writeAt = Math.min(writeAt, writing);
                if (thread == null) {
                    thread = new Thread(this::run, "idemkey-keeper");
                    thread.setDaemon(true);
                    thread.start();
                }
                changed.signal();
            }
            return true;
        } finally {
            lock.unlock();
        }
    }

    private enum Due {
        RENEWAL,
        WRITING,
        CLOSED
    }

    private void run() {
        try {
            for (Due due = next(); due != Due.CLOSED; due = next()) {
                if (due == Due.RENEWAL) {
                    renewed(reached("leases could not be renewed; trying on", renewals::renew));
                } else {
                    reached("responses could not be recorded; trying on", writes::write);
                    written();
                }
            }
        } catch (InterruptedException e) {
            // Nobody but the owner of this thread interrupts it; whoever does wants it to end.
        }
    }

    private Due next() throws InterruptedException {
        lock.lockInterruptibly();
        try {
            while (!closed) {
                long now = now();
                if (renewAt <= now) {
                    return Due.RENEWAL;
                } else if (writeAt <= now) {
                    return Due.WRITING;
                }
                long next = Math.min(renewAt, writeAt);
                if (next == NEVER) {
                    changed.await();
                } else {
                    changed.awaitNanos(next - now);
                }
            }
            return Due.CLOSED;
        } finally {
            lock.unlock();
        }
    }

    private void renewed(boolean reached) {
        lock.lock();
        try {
            long pause = renewals.shortest().map(Keeper::third).orElse(NEVER);
            renewAt = pause == NEVER ? NEVER : now() + (reached ? pause : Math.min(pause, RETRY));
        } finally {
            lock.unlock();
        }
    }

    private void written() {
        lock.lock();
        try {
            writeAt = writes.size() == 0 ? NEVER : now() + RETRY;
        } finally {
            lock.unlock();
        }
    }

    @FunctionalInterface
    private interface Task {
        void run() throws SQLException;
    }

    private boolean reached(String failure, Task task) {
        try {
            task.run();
            if (away) {
                away = false;
                LOG.log(Level.INFO, "the database answers again");
            }
            return true;
        } catch (SQLException | RuntimeException e) {
            // Whatever it is, the thread has to go on: other leases hang on it.
            if (!away) {
                away = true;
                // Not as the driver tells it: a refused row stands in its message, key and body and all.
                LOG.log(Level.WARNING, failure, e instanceof SQLException sql ? Jdbc.failure(failure, sql) : e);
            }
            return false;
        }
    }

    /** Ends the thread, then tries once more to write what is waiting. Idempotent. */
    @Override
    public void close() {
        Thread running;
        lock.lock();
        try {
            if (closed) {
                return;
            }
            closed = true;
            changed.signal();
            running = thread;
        } finally {
            lock.unlock();
        }
        if (running != null && !ended(running)) {
            return;
        }
        reached("responses could not be recorded", writes::write);
        if (writes.size() > 0) {
            LOG.log(Level.WARNING, "closed with {0} responses or releases unwritten", writes.size());
        }
    }

    private static boolean ended(Thread thread) {
        try {
            thread.join();
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private long now() {
        return System.nanoTime() - started;
    }

    private static long third(Duration lease) {
        return Math.max(1, lease.toNanos() / 3);
    }
}
