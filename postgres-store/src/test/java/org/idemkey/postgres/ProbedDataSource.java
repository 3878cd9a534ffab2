// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.io.PrintWriter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Logger;
import javax.sql.DataSource;

/** A real data source that is watched, and whose wire can be cut: before a statement is sent, or after it is done. */
final class ProbedDataSource implements DataSource {

    /** What happens around each statement. */
    interface Probe {
        default void before(Connection connection, String sql) throws SQLException {}

        default void after(Connection connection, String sql) throws SQLException {}
    }

    private final DataSource real;
    private final Probe probe;
    private final AtomicInteger open = new AtomicInteger();
    private final AtomicInteger most = new AtomicInteger();
    private final List<String> statements = new CopyOnWriteArrayList<>();

    ProbedDataSource(DataSource real, Probe probe) {
        this.real = real;
        this.probe = probe;
    }

    /** What was executed, in order. */
    List<String> statements() {
        return statements;
    }

    /** How many connections were out at the same time, at most. */
    int mostConnections() {
        return most.get();
    }

    /** How many are out now. */
    int openConnections() {
        return open.get();
    }

    /** Breaks a connection as a network would: whatever was sent may be done, and no answer comes. */
    static SQLException cut(Connection connection) throws SQLException {
        connection.abort(Runnable::run);
        return new SQLException("the wire was cut", "08006");
    }

    @Override
    public Connection getConnection() throws SQLException {
        Connection connection = real.getConnection();
        most.accumulateAndGet(open.incrementAndGet(), Math::max);
        return (Connection) proxy(Connection.class, connection, (method, arguments) -> {
            if (method.equals("close")) {
                open.decrementAndGet();
            }
            if (method.equals("prepareStatement")) {
                String sql = (String) arguments[0];
                return statement(connection, sql, connection.prepareStatement(sql));
            }
            return NOT_OURS;
        });
    }

    private PreparedStatement statement(Connection connection, String sql, PreparedStatement statement) {
        return (PreparedStatement) proxy(PreparedStatement.class, statement, (method, arguments) -> {
            if (!method.startsWith("execute")) {
                return NOT_OURS;
            }
            probe.before(connection, sql);
            statements.add(sql);
            Object result = switch (method) {
                case "executeQuery" -> statement.executeQuery();
                case "executeUpdate" -> statement.executeUpdate();
                default -> statement.execute();
            };
            probe.after(connection, sql);
            return result;
        });
    }

    private static final Object NOT_OURS = new Object();

    private interface Call {
        Object on(String method, Object[] arguments) throws Throwable;
    }

    private static Object proxy(Class<?> type, Object target, Call call) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> {
            Object result = call.on(method.getName(), arguments);
            if (result != NOT_OURS) {
                return result;
            }
            try {
                return method.invoke(target, arguments);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        });
    }

    @Override
    public Connection getConnection(String user, String password) {
        throw new UnsupportedOperationException();
    }

    @Override
    public PrintWriter getLogWriter() throws SQLException {
        return real.getLogWriter();
    }

    @Override
    public void setLogWriter(PrintWriter out) throws SQLException {
        real.setLogWriter(out);
    }

    @Override
    public void setLoginTimeout(int seconds) throws SQLException {
        real.setLoginTimeout(seconds);
    }

    @Override
    public int getLoginTimeout() throws SQLException {
        return real.getLoginTimeout();
    }

    @Override
    public Logger getParentLogger() {
        throw new UnsupportedOperationException();
    }

    @Override
    public <T> T unwrap(Class<T> type) throws SQLException {
        return real.unwrap(type);
    }

    @Override
    public boolean isWrapperFor(Class<?> type) throws SQLException {
        return real.isWrapperFor(type);
    }
}
