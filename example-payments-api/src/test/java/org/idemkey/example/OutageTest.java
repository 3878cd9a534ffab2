// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import static org.assertj.core.api.Assertions.assertThat;

import io.restassured.response.Response;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import javax.sql.DataSource;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.idemkey.example.PaymentGateway.Declined;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Line 42: the database goes away and comes back, and the service needs no help. */
class OutageTest {

    @TempDir
    private static Path directory;

    private static StoppableServer server;

    @BeforeAll
    static void start() throws IOException {
        server = StoppableServer.start(directory);
    }

    @AfterAll
    static void stop() throws IOException {
        server.close();
    }

    private static Response pay(RunningApi api, String key, String order) {
        return RepetitionScenarios.pay(api.alice(), key, order);
    }

    private static long payments(String reference) {
        return TestDatabase.at(server.address()).count("SELECT count(*) FROM payment WHERE reference = ?", reference);
    }

    private static ConditionFactory await() {
        return Awaitility.await().atMost(Duration.ofMinutes(1));
    }

    private static void assertUnavailable(Response response, String type) {
        assertThat(response.getStatusCode()).as(response.asString()).isEqualTo(503);
        assertThat(response.getContentType()).isEqualTo("application/problem+json");
        assertThat(response.<String>path("type")).endsWith("/problems/" + type);
        assertThat(response.getHeader("Retry-After")).isEqualTo("1");
    }

    @Test
    void whileTheDatabaseIsAwayNothingRunsAndAfterwardsEverythingDoes() throws Exception {
        String key = Orders.newKey();
        String reference = Orders.newReference();
        String order = Orders.of("tok_visa", reference);
        SlowGateway gateway = new SlowGateway();
        try (RunningApi api = RunningApi.start(server.address(), gateway)) {
            String location = pay(api, Orders.newKey(), order).getHeader("Location");
            server.stop();
            try {
                assertUnavailable(pay(api, key, order), "store-unavailable");
                assertUnavailable(api.alice().get(location), "database-unavailable");
                assertUnavailable(api.anonymous().get("/health"), "database-unavailable");
            } finally {
                server.start();
            }
            assertThat(gateway.calls()).isEqualTo(1);

            await().until(() -> api.anonymous().get("/health").getStatusCode() == 200);
            await().until(() -> pay(api, key, order).getStatusCode() == 201);

            assertThat(payments(reference)).isEqualTo(2);
            assertThat(gateway.calls()).isEqualTo(2);
        }
    }

    @Test
    void aServerThatTakesNoWritesIsAway() throws Exception {
        String key = Orders.newKey();
        String reference = Orders.newReference();
        String order = Orders.of("tok_visa", reference);
        SlowGateway gateway = new SlowGateway();
        try (RunningApi api = RunningApi.start(server.address(), gateway)) {
            String location = pay(api, Orders.newKey(), order).getHeader("Location");
            makeReadOnly("on");
            try {
                // Sessions of before are being ended, so the first answers may say so.
                await().until(() -> api.alice().get(location).getStatusCode() == 200);

                assertUnavailable(pay(api, key, order), "store-unavailable");
                assertThat(gateway.calls()).isEqualTo(1);
            } finally {
                makeReadOnly("off");
            }

            await().until(() -> pay(api, key, order).getStatusCode() == 201);

            assertThat(payments(reference)).isEqualTo(2);
        }
    }

    private static void makeReadOnly(String onOrOff) throws SQLException {
        try (Connection connection = TestDatabase.at(server.address()).connect();
                Statement statement = connection.createStatement()) {
            statement.execute("SET default_transaction_read_only = off");
            statement.execute("ALTER DATABASE postgres SET default_transaction_read_only = " + onOrOff);
            statement.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    + " WHERE datname = 'postgres' AND pid <> pg_backend_pid()");
        }
    }

    /** Line 34's neighbour: whose effects stand anyway is better off with the answer than without. */
    @Test
    void aLeasesAnswerThatCantBeRecordedIsGivenAndRecordedLater() throws Exception {
        String key = Orders.newKey();
        String order = Orders.of("tok_declined", Orders.newReference());
        AtomicInteger calls = new AtomicInteger();
        try (RunningApi api =
                RunningApi.start(server.address(), stoppingTheServerOnce(calls), "IDEMPOTENCY_MODE", "lease")) {
            Response first;
            try {
                first = pay(api, key, order);
            } finally {
                server.start();
            }
            assertThat(first.getStatusCode()).isEqualTo(402);

            await().until(() -> pay(api, key, order).getHeader("Idempotent-Replayed") != null);

            RepetitionScenarios.assertReplay(first, pay(api, key, order));
            assertThat(calls).hasValue(1);
        }
    }

    @Test
    void aTransactionsAnswerThatCantBeRecordedIsNotGivenAndNothingWasDone() throws Exception {
        String key = Orders.newKey();
        String order = Orders.of("tok_declined", Orders.newReference());
        AtomicInteger calls = new AtomicInteger();
        try (RunningApi api = RunningApi.start(server.address(), stoppingTheServerOnce(calls))) {
            try {
                assertUnavailable(pay(api, key, order), "store-unavailable");
            } finally {
                server.start();
            }
            await().until(() -> api.anonymous().get("/health").getStatusCode() == 200);
            await().until(() -> pay(api, key, order).getStatusCode() == 402);

            assertThat(calls).hasValue(2);
        }
    }

    /** Declines; and makes sure that nothing can be recorded the first time. */
    private static Function<DataSource, PaymentGateway> stoppingTheServerOnce(AtomicInteger calls) {
        return books -> (key, order) -> {
            if (calls.incrementAndGet() == 1) {
                stopServer();
            }
            return new Declined("It is a bad day.");
        };
    }

    private static void stopServer() {
        try {
            server.stop();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
