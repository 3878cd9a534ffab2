// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.lang.System.Logger.Level;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import org.idemkey.Lease;
import org.idemkey.StoredResponse;
import org.jspecify.annotations.Nullable;

/**
 * Completions and releases that could not be written when they were due, because the database was away. Each is tried
 * until it is written, or its claim is found to be nobody's or somebody else's.
 */
final class LateWrites {

    private static final System.Logger LOG = System.getLogger(LateWrites.class.getName());

    /** What a waiting write takes in memory beside its body, roughly. */
    private static final int OVERHEAD = 1024;

    private final Jdbc jdbc;
    private final KeyTable table;
    private final Renewals renewals;
    private final long maxBytes;
    private final Queue<Write> queue = new ConcurrentLinkedQueue<>();
    private final AtomicLong bytes = new AtomicLong();

    LateWrites(Jdbc jdbc, KeyTable table, Renewals renewals, long maxBytes) {
        this.jdbc = jdbc;
        this.table = table;
        this.renewals = renewals;
        this.maxBytes = maxBytes;
    }

    /**
     * A completion, or a release where there is no response.
     *
     * @param since when it was due, by {@link System#nanoTime()}
     * @param insist for how long finding no such claim isn't final, since a statement may still be on its way
     */
    private record Write(Lease lease, @Nullable StoredResponse response, long since, Duration insist) {

        long bytes() {
            return response == null
                    ? OVERHEAD
                    : OVERHEAD
                            + response.body().map(body -> (long) body.length()).orElse(0L);
        }

        boolean insists() {
            return System.nanoTime() - since < insist.toNanos();
        }
    }

    /** Takes a write over, and answers whether there is room for it. */
    boolean add(Lease lease, @Nullable StoredResponse response, Duration insist) {
        Write write = new Write(lease, response, System.nanoTime(), insist);
        if (bytes.addAndGet(write.bytes()) > maxBytes) {
            bytes.addAndGet(-write.bytes());
            return false;
        }
        queue.add(write);
        return true;
    }

    int size() {
        return queue.size();
    }

    /** Tries each of them once, up to the first that the database is away for. */
    void write() throws SQLException {
        for (int left = queue.size(); left > 0; left--) {
            Write write = queue.element();
            boolean settled = false;
            try {
                settled = settle(write);
            } catch (SQLException e) {
                if (!Jdbc.isLockTimeout(e) && !Jdbc.isLostRace(e)) {
                    throw e;
                }
            } finally {
                if (settled) {
                    bytes.addAndGet(-write.bytes());
                    renewals.remove(write.lease().token());
                } else {
                    // To the end, so that one which can't be written doesn't hold up the others.
                    queue.add(write);
                }
                queue.remove();
            }
        }
    }

    private boolean settle(Write write) throws SQLException {
        Lease lease = write.lease();
        StoredResponse response = write.response();
        if (response == null) {
            return jdbc.call(c -> table.release(c, lease.key(), lease.token())) || !write.insists();
        }
        boolean recorded;
        try {
            recorded = jdbc.call(c -> table.complete(c, lease.key(), lease.token(), response))
                    // The first try may have arrived, though its answer did not.
                    || jdbc.call(c -> table.isRecorded(c, lease.key(), lease.token()));
        } catch (SQLException e) {
            if (!Jdbc.isDataError(e) || response.isTombstone()) {
                throw e;
            }
            return settle(new Write(lease, StoredResponse.tombstone(response.status()), write.since(), write.insist()));
        }
        if (!recorded) {
            LOG.log(Level.WARNING, "the response for key {0} came too late to be recorded", lease.key());
        }
        return true;
    }
}
