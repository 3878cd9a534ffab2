// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.idemkey.Decision;
import org.idemkey.benchmarks.Comparison.Effort;
import org.idemkey.testkafka.TestKafka;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Keeps the harness alive: a few hundred requests, no figure judged. What is measured must be what it is called. */
class BenchmarksTest {

    private static final Effort LITTLE = new Effort(1, Duration.ofMillis(1), Duration.ZERO, Duration.ofMillis(1), 1);

    private static Database database;
    private static Application application;

    @BeforeAll
    static void open() throws Exception {
        database = Database.open();
        application = new Application(database);
        application.prepare();
    }

    @AfterAll
    static void close() throws Exception {
        application.close();
        database.close();
    }

    private static long payments() {
        return database.number("SELECT count(*) FROM payment");
    }

    private static long keys() {
        return database.number("SELECT count(*) FROM idempotency_key");
    }

    @Test
    void theDatabaseWaitsForTheDisk() {
        assertThat(database.text("SHOW fsync")).isEqualTo("on");
        assertThat(database.text("SHOW synchronous_commit")).isEqualTo("on");
        assertThat(database.text("SHOW full_page_writes")).isEqualTo("on");
    }

    @Test
    void eachScenarioIsWhatItIsCalled() throws Exception {
        try (Load load = new Load(application.port(), 2)) {
            for (Comparison comparison : application.comparisons()) {
                boolean replays = comparison.subject().replay();
                boolean inserts = !comparison.name().equals("pass-through/no-filter");
                long payments = payments();
                long keys = keys();

                assertThat(load.run(comparison.twin(), 3).requests()).isEqualTo(6);
                assertThat(payments()).as(comparison.name()).isEqualTo(payments + (inserts ? 6 : 0));
                assertThat(keys()).as(comparison.name()).isEqualTo(keys);

                assertThat(load.run(comparison.subject(), 3).requests()).isEqualTo(6);
                long first = inserts && !replays ? 6 : 0;
                assertThat(payments()).as(comparison.name()).isEqualTo(payments + (inserts ? 6 : 0) + first);
                assertThat(keys()).as(comparison.name()).isEqualTo(keys + first);
            }
        }
        application.audit();
    }

    @Test
    void theAuditMissesAPayment() {
        database.execute("CREATE TABLE aside AS SELECT * FROM payment LIMIT 1");
        database.execute("DELETE FROM payment WHERE id IN (SELECT id FROM aside)");

        assertThatThrownBy(application::audit).hasMessageContaining("payments");

        database.execute("INSERT INTO payment SELECT * FROM aside");
        application.audit();
    }

    @Test
    void anAnswerThatWasNotToBeMeasuredFailsTheRun() throws Exception {
        try (Load load = new Load(application.port(), 1)) {
            Traffic firstTakenForReplays = new Traffic("POST", "/same-transaction", true, Traffic.Keys.FRESH);

            assertThatThrownBy(() -> load.run(firstTakenForReplays, 1))
                    .cause()
                    .hasMessageContaining("not the answer that was to be measured: HTTP/1.1 201");
        }
    }

    @Test
    void eachComparisonIsALineOfJson() throws Exception {
        ByteArrayOutputStream lines = new ByteArrayOutputStream();

        List<Comparison.Result> results =
                Benchmarks.compare(application, LITTLE, Output.json(new PrintStream(lines, true, "UTF-8")));

        String number = "[0-9.E-]+";
        assertThat(lines.toString(StandardCharsets.UTF_8).lines())
                .hasSize(14)
                .allMatch(line -> line.matches("\\{\"name\":\"[a-z-]+/[a-z-]+\",\"ratio\":" + number + ",\"low\":"
                        + number
                        + ",\"high\":" + number + ",\"connections\":(8|32),\"p99Ratio\":" + number + ",\"perSecond\":"
                        + number + ",\"twinPerSecond\":" + number + "}"));
        assertThat(results)
                .extracting(Comparison.Result::name)
                .contains(
                        "same-transaction/unprotected",
                        "lease/unprotected",
                        "joined-lease/unprotected",
                        "replay/unprotected",
                        "cached-replay/unprotected",
                        "pass-through/no-filter",
                        "same-transaction/two-statement-transaction");
    }

    @Test
    void thePartsAreWhatTheyAreCalled() throws Exception {
        FilterPieces.Protected handler = new FilterPieces.Protected();
        for (int bytes : new int[] {200, 65_536, 1_048_576}) {
            handler.bytes = bytes;
            assertThat(new FilterPieces().responseCapture(handler)).isEqualTo(bytes);
        }
        new FilterPieces().passThrough(new FilterPieces.Unprotected());
        assertThat(new EnginePieces().fingerprint(new EnginePieces.Requests())).isInstanceOf(Decision.Proceed.class);
        assertThat(new EnginePieces().quotedKey()).isEqualTo(new EnginePieces().bareKey());
    }

    @Test
    void messagesAreComparedAndEachHasHappened() throws Exception {
        assertThat(new Messages(database, TestKafka.shared()).run(10, 20, 1))
                .extracting(Messages.Result::name)
                .containsExactly("consumer/plain-insert", "relay/plain-producer");
    }

    @Test
    void unknownArgumentsAreRefused() {
        assertThat(Options.parse("--json", "--quick")).isEqualTo(new Options(true, false, false, true));
        assertThat(Options.parse("--messages")).isEqualTo(new Options(false, true, false, false));
        assertThat(Options.parse("--profile")).isEqualTo(new Options(false, false, true, false));
        assertThatThrownBy(() -> Options.parse("--messages", "--json", "--quick"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("--messages and --quick");
        assertThatThrownBy(() -> Options.parse("--fast"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("'--fast'");
    }
}
