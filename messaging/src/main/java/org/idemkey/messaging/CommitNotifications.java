// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;

/** Listens on a connection of its own for transactions that called {@link Outbox#wakeRelays}. */
final class CommitNotifications implements Runnable, AutoCloseable {

    /** How long a look may last, and so a close. */
    private static final int LOOK_MILLIS = 500;

    /** Looks without a notification after which the connection is asked whether it lives. */
    private static final int QUIET_LOOKS = 20;

    private final DataSource direct;
    private final Runnable onCommit;
    private final BackOff backOff = new BackOff(Duration.ofSeconds(5));
    private final CountDownLatch closed = new CountDownLatch(1);
    private final Thread thread;

    CommitNotifications(DataSource direct, Runnable onCommit) {
        this.direct = direct;
        this.onCommit = onCommit;
        thread = new Thread(this, "idemkey-outbox-notifications");
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    /** Ends the listening; the thread gives its connection back within half a second. */
    @Override
    public void close() {
        closed.countDown();
    }

    private boolean isClosed() {
        return closed.getCount() == 0;
    }

    @Override
    public void run() {
        int failures = 0;
        while (!isClosed()) {
            try (Connection connection = direct.getConnection()) {
                listen(connection);
                failures = 0;
            } catch (SQLException | RuntimeException e) {
                failures++;
            }
            try {
                // Meanwhile the relay polls.
                closed.await(failures == 0 ? 0 : backOff.nanosAfter(failures), TimeUnit.NANOSECONDS);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    /** Returns when it is closed, or the connection doesn't answer any more. */
    private void listen(Connection connection) throws SQLException {
        // Else the LISTEN would wait for a commit.
        boolean autoCommit = connection.getAutoCommit();
        connection.setAutoCommit(true);
        execute(connection, "LISTEN " + Outbox.CHANNEL);
        // For what was committed before.
        onCommit.run();
        PGConnection session = connection.unwrap(PGConnection.class);
        int quiet = 0;
        while (!isClosed()) {
            PGNotification[] notifications = session.getNotifications(LOOK_MILLIS);
            if (notifications != null && notifications.length > 0) {
                quiet = 0;
                onCommit.run();
            } else if (++quiet >= QUIET_LOOKS) {
                quiet = 0;
                if (!connection.isValid(5)) {
                    return;
                }
            }
        }
        execute(connection, "UNLISTEN " + Outbox.CHANNEL);
        connection.setAutoCommit(autoCommit);
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
