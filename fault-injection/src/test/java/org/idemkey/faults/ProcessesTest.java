// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.idemkey.faults.Children.Signal;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is started is ended, and what is committed stays. */
class ProcessesTest {

    private final Children children = new Children();

    @AfterEach
    void close() {
        children.close();
    }

    private Process sleeping(Signal last) throws IOException {
        return children.start(new ProcessBuilder("sleep", "600"), last);
    }

    @Test
    void noChildOutlivesTheCampaign() throws Exception {
        Process first = sleeping(Signal.KILL);
        Process stopped = sleeping(Signal.KILL);
        Process asked = sleeping(Signal.TERM);
        Children.signal(stopped, Signal.STOP);
        children.close();
        for (Process process : new Process[] {first, stopped, asked}) {
            assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
        }
        assertThatExceptionOfType(IOException.class).isThrownBy(() -> sleeping(Signal.KILL));
    }

    @Test
    void aStoppedChildDoesNothingUntilItGoesOn() throws Exception {
        Process echo = children.start(new ProcessBuilder("cat"), Signal.KILL);
        Children.signal(echo, Signal.STOP);
        echo.getOutputStream().write('x');
        echo.getOutputStream().flush();
        assertThat(echo.getInputStream().available()).isZero();
        Children.signal(echo, Signal.CONT);
        assertThat(echo.getInputStream().read()).isEqualTo('x');
    }

    @Test
    void whatIsCommittedOutlivesAnImmediateStopAndNothingElseDoes(@TempDir Path directory) throws Exception {
        PostgresServer server = new PostgresServer(
                children,
                PostgresPrograms.embedded(Programs.DIRECTORY),
                directory.resolve("data"),
                Instance.freePort(),
                Database.settings());
        Database database = new Database(server);
        database.create();
        Connection open = server.connect(Database.NAME);
        Statement statement = open.createStatement();
        statement.execute("CREATE TABLE t (n int)");
        statement.execute("INSERT INTO t VALUES (1)");
        open.setAutoCommit(false);
        statement.execute("INSERT INTO t VALUES (2)");
        database.crash(Duration.ZERO);
        try (Connection connection = server.connect(Database.NAME);
                ResultSet rows = connection.createStatement().executeQuery("SELECT n FROM t")) {
            assertThat(rows.next()).isTrue();
            assertThat(rows.getInt(1)).isEqualTo(1);
            assertThat(rows.next()).isFalse();
        }
        server.kill();
        assertThat(server.isRunning()).isFalse();
        database.heal();
        assertThat(server.isRunning()).isTrue();
    }
}
