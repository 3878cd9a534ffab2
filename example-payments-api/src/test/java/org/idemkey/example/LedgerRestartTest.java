// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import static org.assertj.core.api.Assertions.assertThat;

import io.restassured.response.Response;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** The program is killed (SIGKILL) on an event's way from the payment's commit into the ledger. */
class LedgerRestartTest {

    /** Holds up whoever gets there while a test holds the lock: the consumer before its entry, the relay at its mark. */
    private static final String BARRIERS = """
            CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
                $$BEGIN PERFORM pg_advisory_xact_lock_shared(TG_ARGV[0]::bigint); RETURN NEW; END$$;
            CREATE TRIGGER wait BEFORE INSERT ON processed_message FOR EACH ROW EXECUTE FUNCTION wait(1);
            CREATE TRIGGER wait BEFORE UPDATE ON outbox FOR EACH ROW EXECUTE FUNCTION wait(2);
            """;

    @RegisterExtension
    private static final TestDatabase DATABASE = new TestDatabase();

    @TempDir
    private static Path directory;

    private static ApiProcess start() throws Exception {
        return ApiProcess.start(
                directory,
                directory,
                "DATABASE_URL",
                DATABASE.address().url(),
                "DATABASE_USER",
                DATABASE.address().user(),
                "DATABASE_PASSWORD",
                DATABASE.address().password());
    }

    private static ConditionFactory await() {
        return Awaitility.await().atMost(Duration.ofMinutes(1));
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static long unpublished() {
        return DATABASE.count("SELECT count(*) FROM outbox WHERE published_at IS NULL");
    }

    /** Until somebody stands at a barrier. */
    private static void awaitHeldUp() {
        await().until(() -> DATABASE.count("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
                        + " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())")
                == 1);
    }

    /** Until nothing of the killed program holds anything any more. */
    private static void awaitGone() {
        await().until(() -> DATABASE.count("SELECT count(*) FROM pg_stat_activity"
                        + " WHERE datname = current_database() AND application_name LIKE 'payments-api%'")
                == 0);
    }

    @Test
    void aPaymentIsBookedOnceThoughTheProgramIsKilledBeforeItsEntryAndBeforeItsMark() throws Exception {
        String key = Orders.newKey();
        String order = Orders.of("tok_visa", "order-1");
        String payment;
        try (Connection barrier = DATABASE.connect();
                ApiProcess api = start()) {
            execute(barrier, BARRIERS);
            execute(barrier, "SELECT pg_advisory_lock(1)");
            Response answer = RepetitionScenarios.pay(api.alice(), key, order);
            assertThat(answer.getStatusCode()).isEqualTo(201);
            payment = answer.path("id");
            awaitHeldUp();
            api.kill();
        }
        awaitGone();
        assertThat(unpublished()).isEqualTo(1);
        assertThat(DATABASE.count("SELECT count(*) FROM ledger_entry")).isZero();

        try (Connection barrier = DATABASE.connect()) {
            execute(barrier, "SELECT pg_advisory_lock(2)");
            try (ApiProcess api = start()) {
                awaitHeldUp();
                api.kill();
            }
        }
        awaitGone();
        assertThat(unpublished()).isEqualTo(1);
        assertThat(DATABASE.count("SELECT count(*) FROM ledger_entry")).isEqualTo(1);

        try (ApiProcess api = start()) {
            await().until(() -> unpublished() == 0);
            // And the client, who may not have heard of any of this, asks again.
            assertThat(RepetitionScenarios.pay(api.alice(), key, order).<String>path("id"))
                    .isEqualTo(payment);

            Response ledger = api.alice().queryParam("reference", "order-1").get("/ledger");
            assertThat(ledger.<List<String>>path("payment")).containsExactly(payment);
            assertThat(DATABASE.count("SELECT count(*) FROM outbox")).isEqualTo(1);
            api.terminate();
            assertThat(api.status()).isEqualTo(143);
            assertThat(api.err()).isEmpty();
        }
    }
}
