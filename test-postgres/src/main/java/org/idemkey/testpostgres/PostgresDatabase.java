// SPDX-License-Identifier: Apache-2.0
package org.idemkey.testpostgres;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * A database of its own for a test class, as a static {@code @RegisterExtension}, on the run's server. A subclass says
 * what is in it. Where there is no class to extend, {@link #create} and {@link #drop} do the same.
 */
public class PostgresDatabase implements BeforeAllCallback, AfterAllCallback, Connector {

    private final PostgresServer server = PostgresServer.shared();
    private final String name;
    private final String options;
    private final List<HikariDataSource> pools = new ArrayList<>();

    /** With the beginning of its name, which is made unique. */
    public PostgresDatabase(String prefix) {
        this(prefix, "");
    }

    /** With options of {@code CREATE DATABASE}, too. */
    public PostgresDatabase(String prefix, String options) {
        this.name = prefix + "_" + UUID.randomUUID().toString().replace('-', '_');
        this.options = options;
    }

    @Override
    public final void beforeAll(ExtensionContext context) throws SQLException {
        create();
    }

    @Override
    public final void afterAll(ExtensionContext context) throws SQLException {
        drop();
    }

    /** Creates it and what belongs in it. */
    public final void create() throws SQLException {
        administer("CREATE DATABASE " + name + " " + options);
        fill();
    }

    /** Makes what the tests find in the new database; nothing, unless overridden. */
    protected void fill() throws SQLException {}

    /** Closes its pools and drops it, whoever is still connected. */
    public final void drop() throws SQLException {
        pools.forEach(HikariDataSource::close);
        administer("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)");
    }

    private void administer(String sql) throws SQLException {
        try (Connection admin = server.connect(server.url());
                Statement statement = admin.createStatement()) {
            statement.execute(sql);
        }
    }

    /** A pool of that size, closed with the database; its settings may name another JDBC URL. */
    public final HikariDataSource pool(int size, HikariConfig config) {
        if (config.getJdbcUrl() == null) {
            config.setJdbcUrl(url());
        }
        config.setUsername(user());
        config.setPassword(password());
        config.setMaximumPoolSize(size);
        HikariDataSource made = new HikariDataSource(config);
        pools.add(made);
        return made;
    }

    /** A connection outside any pool, in auto-commit mode; the caller closes it. */
    @Override
    public Connection connect() throws SQLException {
        return server.connect(url());
    }

    /** Its JDBC URL, without user and password. */
    public final String url() {
        return server.url(name);
    }

    public final String user() {
        return server.user();
    }

    public final String password() {
        return server.password();
    }
}
