// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.LinkedHashSet;
import java.util.Set;
import org.idemkey.postgres.Units.Unit;
import org.jspecify.annotations.Nullable;

/**
 * A connection of the handler's onto its request's transaction; {@link JoinedDataSource} tells what it does. Everything
 * is done under the transaction's lock, except what ends a statement that another thread executes.
 */
final class JoinedConnection implements InvocationHandler {

    /** SQLSTATE: the connection does not exist. */
    static final String NO_CONNECTION = "08003";

    private static final String IN_TRANSACTION = "25001";
    private static final String NO_TRANSACTION = "25P01";
    private static final String NO_SUCH_SAVEPOINT = "3B001";

    private final JoinedTransaction transaction;
    private final Units units;
    private final Connection physical;
    private final Connection proxy;
    private final Set<Statement> statements = new LinkedHashSet<>();
    private final Settings settings;

    private @Nullable Unit unit;
    private boolean autoCommit;
    private boolean readOnly;
    private volatile boolean closed;

    JoinedConnection(JoinedTransaction transaction, Units units, Connection physical, boolean autoCommit) {
        this.transaction = transaction;
        this.units = units;
        this.physical = physical;
        this.autoCommit = autoCommit;
        settings = new Settings(physical);
        proxy = (Connection) Proxy.newProxyInstance(
                JoinedConnection.class.getClassLoader(),
                new Class<?>[] {Connection.class, JoinedTransaction.Member.class},
                this);
    }

    Connection proxy() {
        return proxy;
    }

    @Override
    public @Nullable Object invoke(Object self, Method method, Object @Nullable [] args) throws Throwable {
        switch (method.getName()) {
            case "equals" -> {
                return args != null && args[0] == proxy;
            }
            case "hashCode" -> {
                return System.identityHashCode(proxy);
            }
            case "toString" -> {
                return "connection joined to " + physical;
            }
            case "transaction" -> {
                return transaction;
            }
            case "isClosed" -> {
                return closed || physical.isClosed();
            }
            case "abort" -> {
                closed = true;
                return call(physical, method, args);
            }
            default -> {
                return alone(() -> invokeAlone(method, args));
            }
        }
    }

    /** What is called under the transaction's lock. */
    @FunctionalInterface
    interface Call {
        @Nullable
        Object run() throws Throwable;
    }

    @Nullable
    Object alone(Call call) throws Throwable {
        transaction.enter();
        try {
            return call.run();
        } finally {
            transaction.exit();
        }
    }

    private @Nullable Object invokeAlone(Method method, Object @Nullable [] args) throws Throwable {
        String name = method.getName();
        if (name.equals("close")) {
            close();
            return null;
        } else if (name.equals("isValid") && closed) {
            return false;
        }
        requireOpen();
        Object argument = args == null || args.length == 0 ? null : args[0];
        switch (name) {
            case "getAutoCommit" -> {
                return autoCommit;
            }
            case "setAutoCommit" -> setAutoCommit((boolean) argument(argument));
            case "commit" -> commit();
            case "rollback" -> {
                if (argument == null) {
                    rollback();
                } else {
                    rollback((Savepoint) argument);
                }
            }
            case "setSavepoint" -> {
                return setSavepoint(method, args);
            }
            case "releaseSavepoint" -> releaseSavepoint((Savepoint) argument(argument));
            case "isReadOnly" -> {
                return readOnly;
            }
            case "setReadOnly" -> setReadOnly((boolean) argument(argument));
            case "getTransactionIsolation" -> {
                return transaction.isolation();
            }
            case "setTransactionIsolation" -> setIsolation((int) argument(argument));
            case "beginRequest", "endRequest" -> {
                // The pool's own words about its connection.
            }
            case "unwrap" -> {
                Class<?> type = (Class<?>) argument(argument);
                return type.isInstance(proxy) ? proxy : physical.unwrap(type);
            }
            case "isWrapperFor" -> {
                Class<?> type = (Class<?>) argument(argument);
                return type.isInstance(proxy) || physical.isWrapperFor(type);
            }
            default -> {
                return forward(method, args, argument);
            }
        }
        return null;
    }

    private @Nullable Object forward(Method method, Object @Nullable [] args, @Nullable Object argument)
            throws Throwable {
        if (argument instanceof String sql && method.getName().startsWith("prepare")) {
            TransactionControl.refuse(sql);
        }
        settings.aboutToCall(method.getName());
        Object result = watched(physical, method, args);
        if (result instanceof Statement statement) {
            statements.add(statement);
            return Tied.statement(statement, this);
        }
        return result instanceof DatabaseMetaData metaData ? Tied.metaData(metaData, this) : result;
    }

    private static Object argument(@Nullable Object argument) {
        if (argument == null) {
            throw new IllegalArgumentException("null");
        }
        return argument;
    }

    void requireOpen() throws SQLException {
        if (closed) {
            throw transaction.hasEnded()
                    ? JoinedTransaction.ended()
                    : new SQLException("this connection is closed", NO_CONNECTION);
        }
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

    /** Calls what executes a statement of the handler's: within a unit of work, or as one by itself. */
    @Nullable
    Object execute(Statement statement, Object target, Method method, Object @Nullable [] args) throws Throwable {
        Unit work = begin();
        if (!autoCommit) {
            units.executed();
            return watched(target, method, args);
        }
        boolean succeeded = false;
        // In auto-commit mode the driver reads whole results, and so no cursor can fail when its statement stands.
        int fetchSize = statement.getFetchSize();
        try {
            if (fetchSize != 0) {
                statement.setFetchSize(0);
            }
            units.executed();
            Object result = call(target, method, args);
            succeeded = true;
            return result;
        } catch (Throwable e) {
            unit = null;
            try {
                units.rollback(work);
            } catch (SQLException more) {
                e.addSuppressed(more);
            }
            throw e;
        } finally {
            if (succeeded) {
                unit = null;
                units.commit(work);
            }
            if (fetchSize != 0) {
                statement.setFetchSize(fetchSize);
            }
        }
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
            throw new SQLException("an outer connection's rollback has undone this one's work: roll back", "25P02");
        }
    }

    private void setAutoCommit(boolean on) throws SQLException {
        if (on && !autoCommit && unit != null) {
            commit();
        }
        autoCommit = on;
    }

    private void commit() throws SQLException {
        requireTransaction("commit");
        Unit done = unit;
        if (done != null) {
            requireNotUndone(done);
            unit = null;
            units.commit(done);
        }
    }

    private void rollback() throws SQLException {
        requireTransaction("roll back");
        Unit done = unit;
        unit = null;
        if (done != null && !done.isUndone()) {
            units.rollback(done);
        }
    }

    private void rollback(Savepoint savepoint) throws SQLException {
        requireTransaction("roll back to a savepoint");
        Unit now = unit;
        if (now == null || !now.knows(savepoint)) {
            throw new SQLException("no savepoint of this connection's transaction", NO_SUCH_SAVEPOINT);
        }
        requireNotUndone(now);
        units.rollback(now, savepoint);
    }

    private @Nullable Object setSavepoint(Method method, Object @Nullable [] args) throws Throwable {
        requireTransaction("set a savepoint");
        Unit now = begin();
        units.executed();
        Object savepoint = watched(physical, method, args);
        if (savepoint != null) {
            now.remember((Savepoint) savepoint);
        }
        return savepoint;
    }

    private void releaseSavepoint(Savepoint savepoint) throws SQLException {
        Unit now = unit;
        if (now == null || !now.knows(savepoint)) {
            throw new SQLException("no savepoint of this connection's transaction", NO_SUCH_SAVEPOINT);
        }
        begin();
        now.forget(savepoint);
        try {
            physical.releaseSavepoint(savepoint);
        } catch (SQLException e) {
            now.suspect();
            throw e;
        }
    }

    private void requireTransaction(String what) throws SQLException {
        if (autoCommit) {
            throw new SQLException("can't " + what + " in auto-commit mode", NO_TRANSACTION);
        }
    }

    private void setReadOnly(boolean on) throws SQLException {
        if (unit != null) {
            throw new SQLException("can't change read-only within a transaction", IN_TRANSACTION);
        }
        readOnly = on;
    }

    private void setIsolation(int level) throws SQLException {
        if (level != transaction.isolation()) {
            throw new SQLException(
                    "the request's transaction has begun, with isolation level " + transaction.isolation()
                            + " of java.sql.Connection: set another one as the pool's default",
                    IN_TRANSACTION);
        }
    }

    void closed(Statement statement) {
        statements.remove(statement);
    }

    boolean isClosed() {
        return closed;
    }

    /** Closes it as a pool does: its statements are closed, its settings restored, uncommitted work is undone. */
    void close() throws SQLException {
        if (closed) {
            return;
        }
        closed = true;
        transaction.closed(this);
        Unit left = unit;
        unit = null;
        closeStatements();
        if (left != null && !left.isUndone()) {
            units.rollback(left);
        }
        settings.restore();
    }

    /** The transaction is over, or will be undone: nothing is sent any more. */
    void end() {
        if (!closed) {
            closed = true;
            unit = null;
            closeStatements();
            settings.restoreLocally();
        }
    }

    private void closeStatements() {
        for (Statement statement : statements) {
            try {
                statement.close();
            } catch (SQLException e) {
                // Nobody can use it any more, and that is what closing is for.
            }
        }
        statements.clear();
    }
}
