// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The service's database, with what an operator, or a bad day, can do to it. Thread-safe: one thing at a time. */
final class Database {

    static final String NAME = "payments";
    static final String SERVICE = "payments";

    private PostgresServer server;

    Database(PostgresServer server) {
        this.server = server;
    }

    /** Durable as in production; nothing else is any less so. */
    static Map<String, String> settings() {
        Map<String, String> settings = new HashMap<>();
        settings.put("fsync", "on");
        settings.put("full_page_writes", "on");
        settings.put("synchronous_commit", "on");
        settings.put("listen_addresses", "127.0.0.1");
        settings.put("unix_socket_directories", "");
        settings.put("max_connections", "200");
        settings.put("shared_buffers", "64MB");
        if (System.getProperty("os.name").equals("Linux")) {
            // Before it recovers: one system call in place of one for each file.
            settings.put("recovery_init_sync_method", "syncfs");
        }
        return settings;
    }

    /** Starts a new server with an empty database that belongs to the service. */
    synchronized void create() throws IOException, InterruptedException, SQLException {
        server.initialize();
        server.start();
        try (Connection connection = server.connect("postgres");
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE ROLE " + SERVICE + " LOGIN");
            statement.execute("CREATE DATABASE " + NAME + " OWNER " + SERVICE);
            try (ResultSet row = statement.executeQuery("SHOW fsync")) {
                if (!row.next() || !row.getString(1).equals("on")) {
                    throw new IOException("fsync is off: the campaign would prove nothing");
                }
            }
        }
    }

    /** Where it is now. */
    synchronized InetSocketAddress address() {
        return server.address();
    }

    /** From now on it is there: a replica that was promoted. */
    synchronized void moveTo(PostgresServer other) {
        server = other;
    }

    /** Stops it in immediate mode, and starts it again after a while. */
    synchronized void crash(Duration downtime) throws IOException, InterruptedException {
        server.stopImmediately();
        Thread.sleep(downtime.toMillis());
        server.start();
    }

    /** Starts it, should it be down. */
    synchronized void heal() throws IOException, InterruptedException {
        if (!server.isRunning()) {
            server.start();
        }
    }

    /** Terminates one of the service's backends, more often than not one in the middle of something. */
    synchronized boolean terminateBackend(int pick) throws SQLException {
        List<Integer> idle = new ArrayList<>();
        List<Integer> busy = new ArrayList<>();
        try (Connection connection = server.connect(NAME);
                Statement statement = connection.createStatement()) {
            try (ResultSet rows =
                    statement.executeQuery("SELECT pid, state = 'idle' FROM pg_stat_activity WHERE usename = '"
                            + SERVICE + "' ORDER BY pid")) {
                while (rows.next()) {
                    (rows.getBoolean(2) ? idle : busy).add(rows.getInt(1));
                }
            }
            List<Integer> choice = busy.isEmpty() || (pick % 4 == 0 && !idle.isEmpty()) ? idle : busy;
            if (choice.isEmpty()) {
                return false;
            }
            try (ResultSet row = statement.executeQuery(
                    "SELECT pg_terminate_backend(" + choice.get((pick >>> 2) % choice.size()) + ")")) {
                return row.next() && row.getBoolean(1);
            }
        }
    }

    /** How many events no relay has delivered yet. */
    synchronized long undelivered() throws SQLException {
        try (Connection connection = server.connect(NAME);
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT count(*) FROM outbox WHERE published_at IS NULL")) {
            row.next();
            return row.getLong(1);
        }
    }

    /** Reads the books. */
    synchronized Books books() throws SQLException {
        try (Connection connection = server.connect(NAME)) {
            return Books.read(connection);
        }
    }
}
