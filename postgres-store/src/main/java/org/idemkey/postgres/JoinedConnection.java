// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A connection of the handler's onto its request's transaction; {@link JoinedDataSource} tells what it does. Everything
 * is done under the transaction's lock, except what ends a statement that another thread executes.
 */
final class JoinedConnection implements InvocationHandler {

    /** SQLSTATE: the connection does not exist. */
    static final String NO_CONNECTION = "08003";

    private final JoinedTransaction transaction;
    private final Connection physical;
    private final Connection proxy;
    private final Set<Statement> statements = new LinkedHashSet<>();
    private final Settings settings;
    private final Work work;
    private volatile boolean closed;

    JoinedConnection(JoinedTransaction transaction, Units units, Connection physical, boolean autoCommit) {
        this.transaction = transaction;
        this.physical = physical;
        work = new Work(units, physical, autoCommit);
        settings = new Settings(physical);
        proxy = (Connection) Proxy.newProxyInstance(
                JoinedConnection.class.getClassLoader(),
                new Class<?>[] {Connection.class, JoinedTransaction.Member.class},
                this);
    }

    /** What is executed on it. */
    Work work() {
        return work;
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
                return Work.call(physical, method, args);
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
                return work.isAutoCommit();
            }
            case "setAutoCommit" -> work.setAutoCommit((boolean) argument(argument));
            case "commit" -> work.commit();
            case "rollback" -> {
                if (argument == null) {
                    work.rollback();
                } else {
                    work.rollback((Savepoint) argument);
                }
            }
            case "setSavepoint" -> {
                return work.setSavepoint(method, args);
            }
            case "releaseSavepoint" -> work.releaseSavepoint((Savepoint) argument(argument));
            case "isReadOnly" -> {
                return work.isReadOnly();
            }
            case "setReadOnly" -> work.setReadOnly((boolean) argument(argument));
            case "getTransactionIsolation" -> {
                return transaction.isolation();
            }
            case "setTransactionIsolation" -> requireIsolation((int) argument(argument));
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
        Object result = work.watched(physical, method, args);
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

    private void requireIsolation(int level) throws SQLException {
        if (level != transaction.isolation()) {
            throw new SQLException(
                    "the request's transaction has begun, with isolation level " + transaction.isolation()
                            + " of java.sql.Connection: set another one as the pool's default",
                    "25001");
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
        closeStatements();
        if (!physical.isClosed()) {
            work.undo();
            settings.restore();
        }
    }

    /** The transaction is over, or will be undone: nothing is sent any more. */
    void end() {
        if (!closed) {
            closed = true;
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
