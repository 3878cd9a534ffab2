// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import static java.util.Objects.requireNonNull;

import java.time.Duration;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Sends the outbox's events to a broker: each at least once, those of one aggregate in the order in which they were
 * appended, and marks them as published once they are acknowledged. Works on a daemon thread of its own from
 * {@link Builder#start()} to {@link #close()}, and survives failures of broker and database.
 *
 * <p>Any number of relays may work on one outbox, in one process or many: an aggregate is with one of them at a time. A
 * relay that dies between an acknowledgement and its mark leaves events that are published again, which is what an
 * {@link IdempotentConsumer} is for. Of all deliveries of an event, the first one comes after the first ones of all that
 * go before it in its aggregate.
 *
 * <p>An event that the broker keeps refusing holds up its own aggregate, and no other.
 *
 * <p>Thread-safe.
 */
public final class OutboxRelay implements AutoCloseable {

    private final RelayLoop loop;
    private final Thread thread;
    private final @Nullable CommitNotifications notifications;

    private OutboxRelay(Builder builder) {
        loop = new RelayLoop(builder.dataSource, builder.publisher, builder.listener, builder.settings());
        thread = new Thread(loop, "idemkey-outbox-relay");
        thread.setDaemon(true);
        notifications = builder.listenOn == null ? null : new CommitNotifications(builder.listenOn, this::wake);
    }

    /**
     * Collects the settings of a relay.
     *
     * @param dataSource where the outbox is; one connection is held per batch, while the broker acknowledges it
     * @param publisher not closed by the relay
     */
    public static Builder builder(DataSource dataSource, MessagePublisher publisher) {
        return new Builder(dataSource, publisher);
    }

    /**
     * Lets the relay look at the outbox now instead of at the next poll: call it after a commit that appended something.
     * Doesn't wait, and doesn't shorten the wait for a broker that is away.
     */
    public void wake() {
        loop.wake();
    }

    /**
     * Ends the relay: nothing more is handed over, what is in flight is waited for and marked. Returns once the thread
     * has ended, which takes no longer than the publish timeout, and the database's answer. A thread that is interrupted
     * here waits no longer, and neither does the relay. Closing again does nothing.
     */
    @Override
    public void close() {
        if (notifications != null) {
            notifications.close();
        }
        loop.stop();
        if (Thread.currentThread() == thread) {
            return;
        }
        try {
            thread.join();
        } catch (InterruptedException e) {
            thread.interrupt();
            Thread.currentThread().interrupt();
        }
    }

    /** Collects settings; {@link #start()} checks them. Not thread-safe. */
    public static final class Builder {

        private final DataSource dataSource;
        private final MessagePublisher publisher;
        private int batchSize = 500;
        private Duration pollInterval = Duration.ofMillis(500);
        private Duration publishTimeout = Duration.ofSeconds(30);
        private Duration maxBackOff = Duration.ofSeconds(5);
        private @Nullable DataSource listenOn;
        private RelayListener listener = RelayListener.none();

        private Builder(DataSource dataSource, MessagePublisher publisher) {
            this.dataSource = requireNonNull(dataSource, "dataSource");
            this.publisher = requireNonNull(publisher, "publisher");
        }

        /** How many events make a batch, and so a transaction, at most; 500 by default, 1 to 10,000. */
        public Builder batchSize(int events) {
            batchSize = events;
            return this;
        }

        /** How long an idle relay waits, unless it is woken, until it looks again; 500 ms by default, 1 ms at least. */
        public Builder pollInterval(Duration interval) {
            pollInterval = requireNonNull(interval, "interval");
            return this;
        }

        /**
         * How long a batch may wait for acknowledgements; 30 seconds by default, 1 ms at least. That long a transaction
         * may be open and idle: the database's {@code idle_in_transaction_session_timeout} must allow it. What isn't
         * acknowledged by then is published again.
         */
        public Builder publishTimeout(Duration timeout) {
            publishTimeout = requireNonNull(timeout, "timeout");
            return this;
        }

        /** The longest wait between two tries while broker or database are away; 5 seconds by default, 1 ms at least. */
        public Builder maxBackOff(Duration wait) {
            maxBackOff = requireNonNull(wait, "wait");
            return this;
        }

        /**
         * Whence to take one connection for good, to be woken by {@link Outbox#wakeRelays}; none by default. It must
         * lead to the server itself, not to a transaction-pooling proxy, and hand out pgjdbc's connections.
         */
        public Builder listenOn(DataSource direct) {
            listenOn = requireNonNull(direct, "direct");
            return this;
        }

        /** Who is told what happens; nobody by default. */
        public Builder listener(RelayListener listener) {
            this.listener = requireNonNull(listener, "listener");
            return this;
        }

        /**
         * Checks all settings and starts a relay.
         *
         * @throws IllegalArgumentException if a setting is out of its bounds; the message names it
         */
        public OutboxRelay start() {
            if (batchSize < 1 || batchSize > 10_000) {
                throw new IllegalArgumentException("batchSize must be 1 to 10,000");
            }
            requirePositive(pollInterval, "pollInterval");
            requirePositive(publishTimeout, "publishTimeout");
            requirePositive(maxBackOff, "maxBackOff");
            OutboxRelay relay = new OutboxRelay(this);
            relay.thread.start();
            if (relay.notifications != null) {
                relay.notifications.start();
            }
            return relay;
        }

        private RelayLoop.Settings settings() {
            return new RelayLoop.Settings(batchSize, pollInterval, publishTimeout, maxBackOff);
        }

        private static void requirePositive(Duration duration, String name) {
            // A day is more than any of them needs, and far from what nanoseconds in a long can't hold.
            if (duration.compareTo(Duration.ofMillis(1)) < 0 || duration.compareTo(Duration.ofDays(1)) > 0) {
                throw new IllegalArgumentException(name + " must be 1 ms to 1 day");
            }
        }
    }
}
