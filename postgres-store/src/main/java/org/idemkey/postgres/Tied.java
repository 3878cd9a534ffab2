// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A statement, a result set or meta data of a {@link JoinedConnection}: leads back to that connection and never to the
 * pooled one, runs within its units of work, and ends with it.
 */
final class Tied implements InvocationHandler {

    /** Methods of statements and result sets that send a statement and are not named execute…. */
    private static final Set<String> EXECUTING =
            Set.of("getParameterMetaData", "insertRow", "updateRow", "deleteRow", "refreshRow");

    private final Object target;
    private final Object proxy;
    private final JoinedConnection connection;

    /** What executes: the statement itself, or the one that the result set is of. */
    private final @Nullable Statement statement;

    /** What {@code getStatement} answers. */
    private final @Nullable Object statementProxy;

    private Tied(
            Class<?> type,
            Object target,
            JoinedConnection connection,
            @Nullable Statement statement,
            @Nullable Object statementProxy) {
        this.target = target;
        this.connection = connection;
        this.statement = statement;
        proxy = Proxy.newProxyInstance(Tied.class.getClassLoader(), new Class<?>[] {type}, this);
        this.statementProxy = target == statement ? proxy : statementProxy;
    }

    static Object statement(Statement target, JoinedConnection connection) {
        Class<?> type = target instanceof CallableStatement
                ? CallableStatement.class
                : target instanceof PreparedStatement ? PreparedStatement.class : Statement.class;
        return new Tied(type, target, connection, target, null).proxy;
    }

    static Object metaData(DatabaseMetaData target, JoinedConnection connection) {
        return new Tied(DatabaseMetaData.class, target, connection, null, null).proxy;
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
                return target.toString();
            }
            case "cancel" -> {
                // For another thread than the one that executes and holds the lock.
                connection.requireOpen();
                return Work.call(target, method, args);
            }
            default -> {
                return connection.alone(() -> invokeAlone(method, args));
            }
        }
    }

    private @Nullable Object invokeAlone(Method method, Object @Nullable [] args) throws Throwable {
        String name = method.getName();
        if (connection.isClosed()) {
            if (name.equals("close")) {
                return null;
            } else if (name.equals("isClosed")) {
                return true;
            }
        }
        connection.requireOpen();
        if (args != null && args.length > 0) {
            if (name.equals("unwrap") && args[0] instanceof Class<?> type && type.isInstance(proxy)) {
                return proxy;
            } else if (name.equals("isWrapperFor") && args[0] instanceof Class<?> type && type.isInstance(proxy)) {
                return true;
            } else if (args[0] instanceof String sql && (name.startsWith("execute") || name.equals("addBatch"))) {
                TransactionControl.refuse(sql);
            }
        }
        Statement executor = statement;
        Object result = executor != null && executes(name)
                ? connection.work().execute(executor, target, method, args)
                : connection.work().watched(target, method, args);
        if (name.equals("close") && target == statement) {
            connection.closed((Statement) target);
        }
        return tie(result);
    }

    private boolean executes(String name) {
        // A prepared statement that hasn't been executed asks the server what it will return.
        return name.startsWith("execute")
                || EXECUTING.contains(name)
                || (name.equals("getMetaData") && target == statement);
    }

    private @Nullable Object tie(@Nullable Object result) throws SQLException {
        if (result instanceof Connection) {
            return connection.proxy();
        } else if (result instanceof ResultSet rows) {
            return new Tied(ResultSet.class, rows, connection, statement, statementProxy).proxy;
        } else if (result instanceof Statement other) {
            return statementProxy != null ? statementProxy : statement(other, connection);
        }
        return result;
    }
}
