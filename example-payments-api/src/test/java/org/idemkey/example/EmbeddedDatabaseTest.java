// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One directory, started again and again, each time after another accident. */
class EmbeddedDatabaseTest {

    @TempDir
    private static Path home;

    private long before;

    @BeforeEach
    void aRowMore() throws Exception {
        try (EmbeddedDatabase database = EmbeddedDatabase.start(home);
                Connection connection = connect(database)) {
            connection.createStatement().execute("CREATE TABLE IF NOT EXISTS survivor (n int)");
            connection.createStatement().execute("INSERT INTO survivor VALUES (1)");
            before = TestDatabase.at(database.address()).count("SELECT count(*) FROM survivor");
        }
    }

    private static Connection connect(EmbeddedDatabase database) throws SQLException {
        return TestDatabase.at(database.address()).connect();
    }

    private static Path cluster() throws IOException {
        return home.toRealPath().resolve(Files.readString(home.resolve("cluster")));
    }

    private void assertThatItStartsWithAllData() throws Exception {
        try (EmbeddedDatabase database = EmbeddedDatabase.start(home)) {
            assertThat(TestDatabase.at(database.address()).count("SELECT count(*) FROM survivor"))
                    .isEqualTo(before);
        }
    }

    @Test
    void dataSurviveARestart() throws Exception {
        assertThatItStartsWithAllData();
        assertThat(cluster().resolve("postmaster.pid")).doesNotExist();
    }

    @Test
    void commitsReachTheDisk() throws Exception {
        try (EmbeddedDatabase database = EmbeddedDatabase.start(home)) {
            assertThat(
                            TestDatabase.at(database.address())
                                    .count(
                                            "SELECT count(*) FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit') AND setting = 'on'"))
                    .isEqualTo(2);
        }
    }

    @Test
    void aSecondServiceIsRefusedAndTheFirstGoesOn() throws Exception {
        try (EmbeddedDatabase first = EmbeddedDatabase.start(home)) {
            assertThatThrownBy(() -> EmbeddedDatabase.start(home))
                    .isInstanceOf(StartupException.class)
                    .hasMessage("DATA_DIR " + home.toRealPath() + " is in use by another payments-api");

            assertThat(TestDatabase.at(first.address()).count("SELECT count(*) FROM survivor"))
                    .isEqualTo(before);
        }
    }

    @Test
    void aNumberInThePidFileThatIsAnotherProcessNowHarmsNeitherOfBoth() throws Exception {
        Process bystander = new ProcessBuilder("cat").start();
        try {
            Files.write(
                    cluster().resolve("postmaster.pid"),
                    List.of(Long.toString(bystander.pid()), cluster().toString(), "1700000000", "5432", "", ""));

            assertThatItStartsWithAllData();

            assertThat(bystander.isAlive()).isTrue();
        } finally {
            bystander.destroy();
        }
    }

    @Test
    void aPidFileThatWasNeverWrittenIsNoObstacle() throws Exception {
        Files.createFile(cluster().resolve("postmaster.pid"));

        assertThatItStartsWithAllData();
    }

    @Test
    void aProcessThatOnlyTalksAboutTheDirectoryIsLeftAlone() throws Exception {
        Process bystander =
                new ProcessBuilder("tail", "-f", "/dev/null", cluster().toString()).start();
        try {
            assertThatItStartsWithAllData();

            assertThat(bystander.isAlive()).isTrue();
        } finally {
            bystander.destroy();
        }
    }

    @Test
    void aDataDirectoryThatWasNotFinishedIsMadeAnew() throws Exception {
        Path counted = cluster();
        Path half = Files.createDirectories(home.resolve("cluster-half"));
        Files.writeString(half.resolve("PG_VERSION"), "18");
        Files.createDirectories(half.resolve("base/1"));

        assertThatItStartsWithAllData();

        assertThat(half).doesNotExist();
        assertThat(counted).exists();
    }

    @Test
    void aFirstStartThatWasKilledIsBegunAgain(@TempDir Path fresh) throws Exception {
        // As it looks with initdb half through: the pointer is not written yet.
        Path half = Files.createDirectories(fresh.resolve("cluster-half"));
        Files.writeString(half.resolve("postgresql.conf"), "");

        try (EmbeddedDatabase database = EmbeddedDatabase.start(fresh)) {
            assertThat(TestDatabase.at(database.address()).count("SELECT 1")).isEqualTo(1);
        }
        assertThat(half).doesNotExist();
    }

    @Test
    void aDirectoryThatCantBeUsedIsToldInOneLine(@TempDir Path parent) throws IOException {
        Path file = Files.createFile(parent.resolve("file"));

        assertThatThrownBy(() -> EmbeddedDatabase.start(file.resolve("data")))
                .isInstanceOf(StartupException.class)
                .hasMessageStartingWith("DATA_DIR " + file.resolve("data"))
                .message()
                .doesNotContain("\n");
    }
}
