// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** What is paid comes into the ledger, once, in each mode; without a broker. */
@ParameterizedClass
@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "UNPROTECTED")
class LedgerTest {

    /** One that fails the transaction at its very end, one that fails its announcement. */
    private static final String TRIGGERS = """
            CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                $$BEGIN RAISE EXCEPTION 'refused by the test' USING ERRCODE = 'disk_full'; END$$;
            DROP TRIGGER IF EXISTS refuse ON payment;
            CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON payment DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW WHEN (NEW.reference LIKE 'uncommitted-%') EXECUTE FUNCTION refuse();
            DROP TRIGGER IF EXISTS refuse ON outbox;
            CREATE TRIGGER refuse BEFORE INSERT ON outbox
                FOR EACH ROW WHEN (NEW.payload ->> 'reference' LIKE 'unannounced-%') EXECUTE FUNCTION refuse();
            """;

    @RegisterExtension
    private static final TestDatabase DATABASE = new TestDatabase();

    private static RunningApi api;

    private final IdempotencyMode mode;

    LedgerTest(IdempotencyMode mode) {
        this.mode = mode;
    }

    @BeforeParameterizedClassInvocation
    static void start(IdempotencyMode mode) throws StartupException {
        api = RunningApi.start(DATABASE.address(), "IDEMPOTENCY_MODE", mode.toString());
        DATABASE.update(TRIGGERS);
    }

    @AfterParameterizedClassInvocation
    static void stop() {
        api.close();
    }

    private static Response ledger(RequestSpecification merchant, String reference) {
        return merchant.queryParam("reference", reference).get("/ledger");
    }

    /** Until everything that was announced is booked. */
    private static void awaitBooked() {
        await().atMost(Duration.ofMinutes(1))
                .until(() -> DATABASE.count("SELECT count(*) FROM outbox WHERE published_at IS NULL") == 0);
    }

    @Test
    void aPaymentIsBookedOnceHoweverOftenItIsAskedFor() {
        String reference = Orders.newReference();
        String key = Orders.newKey();

        String payment = RepetitionScenarios.pay(api.alice(), key, Orders.of("tok_visa", reference))
                .path("id");
        for (int i = 0; i < 3; i++) {
            assertThat(RepetitionScenarios.pay(api.alice(), key, Orders.of("tok_visa", reference))
                            .<String>path("id"))
                    .isEqualTo(payment);
        }
        awaitBooked();

        Response entries = ledger(api.alice(), reference);
        assertThat(entries.getStatusCode()).isEqualTo(200);
        assertThat(entries.getContentType()).isEqualTo("application/json");
        assertThat(entries.asString())
                .matches("\\[\\{\"type\":\"PaymentSucceeded\",\"payment\":\"" + payment + "\",\"amount\":1250,"
                        + "\"currency\":\"EUR\",\"reference\":\"" + reference
                        + "\",\"bookedAt\":\"[0-9-]{10}T[0-9:]{8}\\.[0-9]{3}Z\"}]");
    }

    @Test
    void anEventThatIsDeliveredAgainIsNotBookedAgain() {
        String reference = Orders.newReference();
        RepetitionScenarios.pay(api.alice(), Orders.newKey(), Orders.of("tok_visa", reference));
        awaitBooked();

        // As after a relay's death between delivery and mark.
        DATABASE.update("UPDATE outbox SET published_at = NULL");
        awaitBooked();

        assertThat(ledger(api.alice(), reference).<List<Integer>>path("amount")).containsExactly(1250);
    }

    @Test
    void whatTheLedgerCouldNotBookIsBookedLater() {
        String reference = Orders.newReference();
        DATABASE.update("ALTER TABLE ledger_entry ADD CONSTRAINT closed CHECK (amount < 0) NOT VALID");
        try {
            long tries = tries();
            RepetitionScenarios.pay(api.alice(), Orders.newKey(), Orders.of("tok_visa", reference));
            await().atMost(Duration.ofMinutes(1)).until(() -> tries() > tries);
            assertThat(ledger(api.alice(), reference).asString()).isEqualTo("[]");
        } finally {
            DATABASE.update("ALTER TABLE ledger_entry DROP CONSTRAINT closed");
        }
        awaitBooked();

        assertThat(ledger(api.alice(), reference).<List<Integer>>path("amount")).containsExactly(1250);
    }

    /** How often the ledger has tried to book something: a sequence goes on whatever becomes of the row. */
    private static long tries() {
        return DATABASE.count("SELECT last_value FROM ledger_entry_id_seq");
    }

    @Test
    void whatFailedIsNotBooked() {
        String reference = Orders.newReference();
        assertThat(RepetitionScenarios.pay(api.alice(), Orders.newKey(), Orders.of("tok_declined", reference))
                        .getStatusCode())
                .isEqualTo(402);
        assertThat(RepetitionScenarios.pay(api.alice(), Orders.newKey(), Orders.of("tok_gateway_error", reference))
                        .getStatusCode())
                .isEqualTo(502);

        assertThat(events(reference)).isZero();
        assertThat(ledger(api.alice(), reference).asString()).isEqualTo("[]");
    }

    @Test
    void aPaymentThatIsNotCommittedAnnouncesNothing() {
        String reference = "uncommitted-" + mode;

        assertThat(RepetitionScenarios.pay(api.alice(), Orders.newKey(), Orders.of("tok_visa", reference))
                        .getStatusCode())
                .isGreaterThanOrEqualTo(400);

        assertThat(payments(reference)).isZero();
        assertThat(events(reference)).isZero();
    }

    @Test
    void aPaymentThatCannotBeAnnouncedIsNotMade() {
        String reference = "unannounced-" + mode;

        assertThat(RepetitionScenarios.pay(api.alice(), Orders.newKey(), Orders.of("tok_visa", reference))
                        .getStatusCode())
                .isGreaterThanOrEqualTo(500);

        assertThat(payments(reference)).isZero();
        assertThat(events(reference)).isZero();
    }

    private static long payments(String reference) {
        return DATABASE.count("SELECT count(*) FROM payment WHERE reference = ?", reference);
    }

    private static long events(String reference) {
        return DATABASE.count("SELECT count(*) FROM outbox WHERE payload ->> 'reference' = ?", reference);
    }

    @Test
    void theSumsOfLedgerAndPaymentsAreEqual() {
        String reference = Orders.newReference();
        for (int amount = 1; amount <= 20; amount++) {
            RepetitionScenarios.pay(api.bob(), Orders.newKey(), Orders.of(amount, "tok_visa", reference));
        }
        awaitBooked();

        assertThat(ledger(api.bob(), reference).<List<Integer>>path("amount").stream()
                        .mapToInt(Integer::intValue)
                        .sum())
                .isEqualTo(210);
        assertThat(DATABASE.count("SELECT sum(amount) FROM ledger_entry"))
                .isEqualTo(DATABASE.count("SELECT sum(amount) FROM payment"));
    }

    @Test
    void aMerchantSeesOnlyItsOwn() {
        String reference = Orders.newReference();
        RepetitionScenarios.pay(api.alice(), Orders.newKey(), Orders.of("tok_visa", reference));
        awaitBooked();

        assertThat(ledger(api.bob(), reference).asString()).isEqualTo("[]");
        assertThat(ledger(api.anonymous(), reference).getStatusCode()).isEqualTo(401);
    }

    @Test
    void itWantsAReferenceAndOnlyTellsOfThings() {
        assertThat(api.alice().get("/ledger").getStatusCode()).isEqualTo(422);
        assertThat(ledger(api.alice(), "").<List<String>>path("errors.field")).containsExactly("reference");
        assertThat(api.alice().post("/ledger").getStatusCode()).isEqualTo(405);
        assertThat(api.alice().get("/ledger/x").getStatusCode()).isEqualTo(404);
    }
}
