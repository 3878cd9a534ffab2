// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.lang.System.Logger.Level;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.idemkey.IdempotencyStoreException;
import org.idemkey.Lease;
import org.idemkey.StoredResponse;
import org.idemkey.postgres.KeyTable.Renewal;
import org.idemkey.postgres.KeyTable.Request;
import org.jspecify.annotations.Nullable;

/**
 * What a process does for its claims in the background, in one thread: renews the leases, all of them in one statement
 * whenever a third of the shortest is over, and writes the completions and releases that could not be written.
 *
 * <p>A database that is away is asked again and again. A lease that is found lost is never renewed again.
 */
final class Keeper implements AutoCloseable {

    private static final System.Logger LOG = System.getLogger(Keeper.class.getName());
    private static final long NEVER = Long.MAX_VALUE;
    private static final long RETRY = Duration.ofSeconds(1).toNanos();
    /** What a waiting write takes in memory beside its body, roughly. */
    private static final int OVERHEAD = 1024;

    private final Jdbc jdbc;
    private final KeyTable table;
    private final long maxBytes;
    private final long started = System.nanoTime();
    private final Map<UUID, Renewal> leases = new ConcurrentHashMap<>();
    private final Queue<Write> writes = new ConcurrentLinkedQueue<>();
    private final AtomicLong bytes = new AtomicLong();

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private long renewAt = NEVER;
    private long writeAt = NEVER;
    private @Nullable Thread thread;
    private boolean closed;
    private boolean away;

    Keeper(Jdbc jdbc, KeyTable table, long maxBytes) {
        this.jdbc = jdbc;
        this.table = table;
        this.maxBytes = maxBytes;
    }

    /**
     * Something still to be written: a completion, or a release where there is no response.
     *
     * @param insistUntil by when finding no such claim isn't final, since a statement may still be on its way
     */
    private record Write(Lease lease, @Nullable StoredResponse response, long insistUntil) {

        long bytes() {
            return response == null
                    ? OVERHEAD
                    : OVERHEAD
                            + response.body().map(body -> (long) body.length()).orElse(0L);
        }
    }

    void requireOpen() {
        lock.lock();
        try {
            if (closed) {
                throw new IdempotencyStoreException("the store is closed", null);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Keeps a lease alive from now on. */
    void watch(Request request) {
        Duration lease = request.terms().lease();
        leases.put(request.token(), new Renewal(request.key(), request.token(), lease));
        wake(now() + third(lease), NEVER);
    }

    /** Lets a lease be: it has ended. */
    void forget(UUID token) {
        leases.remove(token);
    }

    /** Takes over the recording of a response, and answers whether there is room for it. */
    boolean defer(Lease lease, StoredResponse response) {
        return add(new Write(lease, response, 0));
    }

    /** Takes over a release. The lease is not renewed meanwhile. */
    void deferRelease(Lease lease) {
        forget(lease.token());
        add(new Write(lease, null, 0));
    }

    /** Frees a claim that may or may not have been made, and that nobody will run for. */
    void abandon(Request request) {
        Lease lease = new PostgresLease(table, request.key(), request.token(), 1);
        add(new Write(lease, null, now() + request.terms().lease().toNanos()));
    }

    /** How many writes are waiting. */
    int waiting() {
        return writes.size();
    }

    private boolean add(Write write) {
        lock.lock();
        try {
            if (closed || bytes.get() + write.bytes() > maxBytes) {
                return false;
            }
            bytes.addAndGet(write.bytes());
            writes.add(write);
        } finally {
            lock.unlock();
        }
        wake(NEVER, now());
        return true;
    }

    private void wake(long renewal, long writing) {
        lock.lock();
        try {
            if (closed || (renewal >= renewAt && writing >= writeAt)) {
                return;
            }
            renewAt = Math.min(renewAt, renewal);
            writeAt = Math.min(writeAt, writing);
            if (thread == null) {
                thread = new Thread(this::run, "idemkey-keeper");
                thread.setDaemon(true);
                thread.start();
            }
            changed.signal();
        } finally {
            lock.unlock();
        }
    }

    private void run() {
        try {
            while (true) {
                Due due = awaitDue();
                if (due == Due.CLOSED) {
                    return;
                }
                if (due == Due.RENEWAL) {
                    renewed(renew());
                } else {
                    written(write());
                }
            }
        } catch (InterruptedException e) {
            // Nobody but the owner of this thread interrupts it; whoever does wants it to end.
        }
    }

    private enum Due {
        RENEWAL,
        WRITING,
        CLOSED
    }

    private Due awaitDue() throws InterruptedException {
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
            long shortest = leases.values().stream()
                    .mapToLong(renewal -> third(renewal.lease()))
                    .min()
                    .orElse(NEVER);
            renewAt = shortest == NEVER ? NEVER : now() + (reached ? shortest : Math.min(shortest, RETRY));
        } finally {
            lock.unlock();
        }
    }

    private void written(boolean all) {
        lock.lock();
        try {
            writeAt = writes.isEmpty() ? NEVER : all ? writeAt : now() + RETRY;
        } finally {
            lock.unlock();
        }
    }

    /** Renews all leases, and answers whether the database could be asked. */
    boolean renew() {
        List<Renewal> renewals = List.copyOf(leases.values());
        if (renewals.isEmpty()) {
            return true;
        }
        try {
            Set<UUID> held = jdbc.call(c -> table.renew(c, renewals));
            renewals.forEach(renewal -> {
                if (!held.contains(renewal.token())) {
                    leases.remove(renewal.token(), renewal);
                }
            });
            reached();
            return true;
        } catch (SQLException | RuntimeException e) {
            missed("leases could not be renewed; trying on", e);
            return false;
        }
    }

    /** Writes what is waiting, and answers whether nothing is left. */
    boolean write() {
        for (int left = writes.size(); left > 0; left--) {
            Write write = writes.remove();
            boolean settled = false;
            try {
                settled = settle(write);
                reached();
            } catch (SQLException | RuntimeException e) {
                if (!(e instanceof SQLException race && (Jdbc.isLockTimeout(race) || Jdbc.isLostRace(race)))) {
                    missed("responses could not be recorded; trying on", e);
                    return false;
                }
            } finally {
                // To the end of the queue, so that one which can't be written doesn't hold up the others.
                if (!settled) {
                    writes.add(write);
                }
            }
            if (settled) {
                bytes.addAndGet(-write.bytes());
                leases.remove(write.lease().token());
            }
        }
        return writes.isEmpty();
    }

    private boolean settle(Write write) throws SQLException {
        Lease lease = write.lease();
        StoredResponse response = write.response();
        if (response == null) {
            return jdbc.call(c -> table.release(c, lease.key(), lease.token())) || write.insistUntil() <= now();
        }
        boolean recorded = jdbc.call(c -> table.complete(c, lease.key(), lease.token(), response))
                // The first try may have arrived, though its answer did not.
                || jdbc.call(c -> table.isRecorded(c, lease.key(), lease.token()));
        if (!recorded) {
            LOG.log(Level.WARNING, "the response for key {0} came too late to be recorded", lease.key());
        }
        return true;
    }

    private void reached() {
        if (away) {
            away = false;
            LOG.log(Level.INFO, "the database answers again");
        }
    }

    private void missed(String what, Exception e) {
        if (!away) {
            away = true;
            // Not as the driver tells it: a refused row stands in its message, key and body and all.
            LOG.log(Level.WARNING, what, e instanceof SQLException sql ? Jdbc.failure(what, sql) : e);
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
            thread = null;
        } finally {
            lock.unlock();
        }
        if (running != null) {
            try {
                running.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        }
        if (!write()) {
            LOG.log(Level.WARNING, "closed with {0} responses that could not be recorded", writes.size());
        }
    }

    private long now() {
        return System.nanoTime() - started;
    }

    private static long third(Duration lease) {
        return Math.max(1, lease.toNanos() / 3);
    }
}
