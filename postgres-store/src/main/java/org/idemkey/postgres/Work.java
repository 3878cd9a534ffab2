// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import org.idemkey.postgres.Units.Unit;
import org.jspecify.annotations.Nullable;

/**
 * What one joined connection executes, as units of work: each statement by itself in auto-commit mode, else all from one
 * commit or rollback to the next.
 *
 * <p>Not thread-safe: used under its transaction's lock.
 */
final class Work {

    private static final String IN_TRANSACTION = "25001";
    private static final String NO_TRANSACTION = "25P01";
    private static final String ABORTED = "25P02";
    private static final String NO_SUCH_SAVEPOINT = "3B001";

    private final Units units;
    private final Connection physical;
    private @Nullable Unit unit;
    private boolean autoCommit;
    private boolean readOnly;

    Work(Units units, Connection physical, boolean autoCommit) {
        this.units = units;
        this.physical = physical;
        this.autoCommit = autoCommit;
    }

    boolean isAutoCommit() {
        return autoCommit;
    }

    boolean isReadOnly() {
        return readOnly;
    }

    /** Calls what sends no statement of the handler's; should it fail, the transaction may have been aborted. */
    @Nullable
    Object watched(Object target, Method method, Object @Nullable [] args) throws Throwable {
        try {
            return call(target, method, args);
        } catch (SQLException e) {
            if (unit != null) {
                unit.suspect();
            }
            throw e;
        }
    }

    /** Calls what executes a statement of the handler's. */
    @Nullable
    Object execute(Statement statement, Object target, Method method, Object @Nullable [] args) throws Throwable {
        if (!autoCommit) {
            begin();
            units.executed();
            return watched(target, method, args);
        }
        // In auto-commit mode the driver reads whole results, and so no cursor can fail when its statement stands.
        int fetchSize = statement.getFetchSize();
        if (fetchSize == 0) {
            return executeByItself(target, method, args);
        }
        statement.setFetchSize(0);
        Object result;
        try {
            result = executeByItself(target, method, args);
        } catch (Throwable e) {
            try {
                statement.setFetchSize(fetchSize);
            } catch (SQLException more) {
                e.addSuppressed(more);
            }
            throw e;
        }
        statement.setFetchSize(fetchSize);
        return result;
    }

    private @Nullable Object executeByItself(Object target, Method method, Object @Nullable [] args) throws Throwable {
        Unit single = begin();
        unit = null;
        units.executed();
        Object result;
        try {
            result = call(target, method, args);
        } catch (Throwable e) {
            try {
                units.rollback(single);
            } catch (SQLException more) {
                e.addSuppressed(more);
            }
            throw e;
        }
        units.commit(single);
        return result;
    }

    static @Nullable Object call(Object target, Method method, Object @Nullable [] args) throws Throwable {
        try {
            return method.invoke(target, args);
        } catch (InvocationTargetException e) {
            throw e.getCause() == null ? e : e.getCause();
        }
    }

    /** The unit to work in now: this connection's own, begun if need be. */
    private Unit begin() throws SQLException {
        Unit now = unit;
        if (now == null) {
            now = units.begin(readOnly && !autoCommit);
            unit = now;
        }
        requireNotUndone(now);
        if (!units.isInnermost(now)) {
            throw new SQLException(
                    "a connection that was taken later has uncommitted work within this one's: commit it or roll it back",
                    IN_TRANSACTION);
        }
        return now;
    }

    private static void requireNotUndone(Unit unit) throws SQLException {
        if (unit.isUndone()) {
            throw new SQLException("an outer connection's rollback has undone this one's work: roll back", ABORTED);
        }
    }

    void setAutoCommit(boolean on) throws SQLException {
        if (on && !autoCommit) {
            commit();
        }
        autoCommit = on;
    }

    void setReadOnly(boolean on) throws SQLException {
        if (unit != null) {
            throw new SQLException("can't change read-only within a transaction", IN_TRANSACTION);
        }
        readOnly = on;
    }

    void commit() throws SQLException {
        requireTransaction("commit");
        Unit done = unit;
        if (done != null) {
            requireNotUndone(done);
            unit = null;
            units.commit(done);
        }
    }

    void rollback() throws SQLException {
        requireTransaction("roll back");
        undo();
    }

    /** Undoes what was not committed, in whatever mode. */
    void undo() throws SQLException {
        Unit done = unit;
        unit = null;
        if (done != null && !done.isUndone()) {
            units.rollback(done);
        }
    }

    void rollback(Savepoint savepoint) throws SQLException {
        requireTransaction("roll back to a savepoint");
        Unit now = unitOf(savepoint);
        requireNotUndone(now);
        units.rollback(now, savepoint);
    }

    /** Sets a savepoint of the handler's, as {@code method} does. */
    @Nullable
    Object setSavepoint(Method method, Object @Nullable [] args) throws Throwable {
        requireTransaction("set a savepoint");
        Unit now = begin();
        units.executed();
        Object savepoint = watched(physical, method, args);
        if (savepoint != null) {
            now.remember((Savepoint) savepoint);
        }
        return savepoint;
    }

    void releaseSavepoint(Savepoint savepoint) throws SQLException {
        Unit now = unitOf(savepoint);
        begin();
        now.forget(savepoint);
        try {
            physical.releaseSavepoint(savepoint);
        } catch (SQLException e) {
            now.suspect();
            throw e;
        }
    }

    private Unit unitOf(Savepoint savepoint) throws SQLException {
        Unit now = unit;
        if (now == null || !now.knows(savepoint)) {
            throw new SQLException("no savepoint of this connection's transaction", NO_SUCH_SAVEPOINT);
        }
        return now;
    }

    private void requireTransaction(String what) throws SQLException {
        if (autoCommit) {
            throw new SQLException("can't " + what + " in auto-commit mode", NO_TRANSACTION);
        }
    }
}
