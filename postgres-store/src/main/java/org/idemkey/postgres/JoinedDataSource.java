// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static java.util.Objects.requireNonNull;

import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.util.logging.Logger;
import javax.sql.DataSource;
import org.idemkey.Lease;
import org.jspecify.annotations.Nullable;

/**
 * Lets handlers write in the transaction in which their response is recorded: on a thread that serves a protected
 * request, {@link #getConnection()} hands out a connection onto the request's own transaction; on any other thread it is
 * the pool's, or none ({@link Builder#refuseOutside}). Give it to the application in the pool's place. Thread-safe; one is
 * enough for all stores over a pool.
 *
 * <table>
 * <caption>A connection within a protected request</caption>
 * <tr><th>call</th><th>what becomes of it</th></tr>
 * <tr><td>{@code commit}</td><td>is kept for the request's one commit: sends nothing, and can't be rolled back by this
 * connection any more</td></tr>
 * <tr><td>{@code rollback}</td><td>undoes what this connection did since it was taken, or since its last commit; the
 * claim stays, so that a 402 can be recorded</td></tr>
 * <tr><td>{@code close}</td><td>closes its statements, and undoes what was not committed, as a pool does; the
 * transaction goes on</td></tr>
 * <tr><td>a statement in auto-commit mode</td><td>stands once it has succeeded; where it fails, it alone is undone.
 * From the second one on that costs a round trip more, for a savepoint</td></tr>
 * <tr><td>a failed statement otherwise</td><td>spoils what was not committed, as PostgreSQL has it, until
 * {@code rollback}</td></tr>
 * <tr><td>{@code setReadOnly(true)}</td><td>is enforced for its transactions, at the price of two round trips</td></tr>
 * <tr><td>{@code setTransactionIsolation}</td><td>fails for any level but the one that the transaction has</td></tr>
 * <tr><td>{@code COMMIT}, {@code ROLLBACK}, {@code BEGIN} as SQL text</td><td>are refused</td></tr>
 * <tr><td>{@code unwrap}</td><td>reaches the driver's own connection, for {@code COPY} and the like; what is done there is
 * no unit of work, and the transaction must not be ended there</td></tr>
 * </table>
 *
 * <p>A second connection, taken while the first has uncommitted work, is nested in it: what it commits goes down with a
 * rollback of the first. Until it has committed or rolled back, the first can't execute anything. Neither can be a
 * transaction of its own; what must stand by itself (an audit trail of failures, say) takes a connection from the pool.
 *
 * <p>Once the request has ended, its connections fail with SQLSTATE 08003, and never touch the next one's transaction.
 */
public final class JoinedDataSource implements DataSource {

    private static final ThreadLocal<@Nullable Bound> BOUND = new ThreadLocal<>();

    private final DataSource pool;
    /** Null if nobody has chosen. */
    private final @Nullable Boolean refuseOutside;

    private JoinedDataSource(Builder builder) {
        pool = builder.pool;
        refuseOutside = builder.refuseOutside;
    }

    /** Joins connections of a pool, with the builder's defaults; answers {@code pool} itself if it does so already. */
    public static JoinedDataSource of(DataSource pool) {
        return pool instanceof JoinedDataSource joined ? joined : builder(pool).build();
    }

    /** Starts with the defaults that each of the builder's methods tells. */
    public static Builder builder(DataSource pool) {
        return new Builder(pool);
    }

    /** Where connections come from that have nothing to do with a handler. */
    DataSource pool() {
        return pool;
    }

    /** What a thread is tied to, and was before: one node for each binding that is open. */
    private record Bound(
            JoinedDataSource dataSource,
            JoinedRequest request,
            @Nullable Bound before) {}

    /** Ties the calling thread to a request, until the result is closed on the same thread. May be nested. */
    Lease.Binding bind(JoinedRequest request) {
        Bound before = BOUND.get();
        BOUND.set(new Bound(this, request, before));
        return () -> {
            if (before == null) {
                BOUND.remove();
            } else {
                BOUND.set(before);
            }
        };
    }

    private @Nullable JoinedRequest current() {
        Bound bound = BOUND.get();
        while (bound != null && bound.dataSource() != this) {
            bound = bound.before();
        }
        return bound == null ? null : bound.request();
    }

    private boolean refusesOutside() {
        return refuseOutside != null && refuseOutside;
    }

    /** A handler is about to go on without its thread: on others it would get the pool's connections unnoticed. */
    void requireChoice() {
        if (refuseOutside == null) {
            throw new IllegalStateException("an asynchronous handler shares its request's transaction only on threads"
                    + " that are bound to it: choose what others get from the JoinedDataSource, an error by"
                    + " JoinedDataSource.builder(pool).refuseOutside(true), or a transaction of their own by (false)");
        }
    }

    @Override
    public Connection getConnection() throws SQLException {
        JoinedRequest request = current();
        if (request != null) {
            return request.connection();
        }
        if (refusesOutside()) {
            throw new SQLException(
                    "this thread serves no protected request: bind the request's Lease to it, or take Lease.connection()",
                    JoinedConnection.NO_CONNECTION);
        }
        return pool.getConnection();
    }

    /** Another user's connection can't join, so within a protected request this fails. */
    @Override
    public Connection getConnection(String user, String password) throws SQLException {
        if (refusesOutside() || current() != null) {
            throw new SQLFeatureNotSupportedException("another user's connection can't join the request's transaction");
        }
        return pool.getConnection(user, password);
    }

    /** Also finds the pool itself, for a transaction that has nothing to do with the request. */
    @Override
    public <T> T unwrap(Class<T> type) throws SQLException {
        if (type.isInstance(this)) {
            return type.cast(this);
        }
        return type.isInstance(pool) ? type.cast(pool) : pool.unwrap(type);
    }

    @Override
    public boolean isWrapperFor(Class<?> type) throws SQLException {
        return type.isInstance(this) || type.isInstance(pool) || pool.isWrapperFor(type);
    }

    @Override
    public @Nullable PrintWriter getLogWriter() throws SQLException {
        return pool.getLogWriter();
    }

    @Override
    public void setLogWriter(@Nullable PrintWriter out) throws SQLException {
        pool.setLogWriter(out);
    }

    @Override
    public void setLoginTimeout(int seconds) throws SQLException {
        pool.setLoginTimeout(seconds);
    }

    @Override
    public int getLoginTimeout() throws SQLException {
        return pool.getLoginTimeout();
    }

    @Override
    public Logger getParentLogger() throws SQLFeatureNotSupportedException {
        return pool.getParentLogger();
    }

    /** Collects settings. Not thread-safe. */
    public static final class Builder {

        private final DataSource pool;
        private @Nullable Boolean refuseOutside;

        private Builder(DataSource pool) {
            this.pool = requireNonNull(pool, "pool");
        }

        /**
         * Whether a thread that is tied to no protected request gets an error instead of a connection. By default it gets a
         * connection of the pool's, and asynchronous handlers, which go on on such threads, are refused before they do.
         *
         * <p>True keeps handlers that hand work to other threads from beginning a second transaction there: they bind the
         * request's {@link Lease} to the thread, or take {@link Lease#connection()}. Those who have nothing to do with
         * protected requests then take their connections from the pool itself. False says that each unbound thread is to
         * have a transaction of its own: what it writes for a request stays, even if that request fails and runs again.
         */
        public Builder refuseOutside(boolean refuse) {
            refuseOutside = refuse;
            return this;
        }

        /** Makes the data source. */
        public JoinedDataSource build() {
            return new JoinedDataSource(this);
        }
    }
}
