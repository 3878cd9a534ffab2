// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.idemkey.faults.Answers.answer;
import static org.idemkey.faults.Answers.created;
import static org.idemkey.faults.Answers.own;
import static org.idemkey.faults.Answers.problem;
import static org.idemkey.faults.Answers.replayOf;

import java.io.IOException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.idemkey.faults.Books.Payment;
import org.idemkey.faults.Finding.Breach;
import org.junit.jupiter.api.Test;

/** Feeds the audit with histories and books: each kind of breach is found, and nothing is that is none. */
class AuditTest {

    private static final String KEY = "k";
    private static final long AMOUNT = 1250;

    private Mode mode = Mode.SAME_TRANSACTION;
    private Intent intent = intent("tok_visa");
    private History history = new History(intent, mode);
    private final Map<String, List<Payment>> payments = new HashMap<>();
    private final Map<String, List<Long>> charges = new HashMap<>();
    private final Set<String> inFlight = new HashSet<>();
    private final Map<String, List<Payment>> ledger = new HashMap<>();

    private static Intent intent(String source) {
        return new Intent(KEY, "sk_demo_alice", AMOUNT, source, Intent.Twist.NONE);
    }

    private void given(Mode mode, String source) {
        this.mode = mode;
        intent = intent(source);
        history = new History(intent, mode);
    }

    private void seen(Answer... answers) {
        Stream.of(answers).forEach(answer -> history.answered("", answer));
    }

    private void booked(Payment... rows) {
        payments.put(KEY, List.of(rows));
        charges.put(KEY, Stream.of(rows).map(Payment::amount).toList());
        ledger.put(KEY, List.of(rows));
    }

    private Audit.Result audit() {
        return Audit.of(mode, List.of(history), new Books(payments, charges, inFlight, ledger));
    }

    private void assertFound(Breach... breaches) {
        Audit.Result result = audit();
        assertThat(result.findings()).extracting(Finding::breach).containsExactly(breaches);
        assertThat(result.findings()).allSatisfy(finding -> {
            assertThat(finding.key()).isEqualTo(KEY);
            assertThat(finding.history()).isEqualTo(history.lines());
        });
        for (Breach breach : breaches) {
            assertThat(result.count(breach)).isEqualTo(1);
        }
    }

    private void paidOnce() {
        seen(created("p1", AMOUNT), replayOf(created("p1", AMOUNT)));
        history.fetched("", answer(200, "{\"id\": \"p1\", \"amount\": 1250}"));
        booked(new Payment("p1", AMOUNT));
    }

    @Test
    void aPaymentThatIsMadeOnceAndRepeatedWordForWordIsFine() {
        for (Mode each : Mode.values()) {
            given(each, "tok_visa");
            history.broken("", new IOException("connection reset"));
            seen(problem(409, "in-progress"), own(503));
            paidOnce();
            assertFound();
        }
    }

    @Test
    void twoPaymentsAreADuplicate() {
        paidOnce();
        booked(new Payment("p1", AMOUNT), new Payment("p2", AMOUNT));
        charges.put(KEY, List.of(AMOUNT));
        assertFound(Breach.DUPLICATE);
    }

    @Test
    void twoChargesAreADuplicate() {
        paidOnce();
        charges.put(KEY, List.of(AMOUNT, AMOUNT));
        assertFound(Breach.DUPLICATE);
    }

    @Test
    void aDuplicateIsFoundThoughNoClientEverSawAnAnswer() {
        given(Mode.LEASE, "tok_visa");
        seen(problem(409, "outcome-unknown"));
        booked(new Payment("p1", AMOUNT), new Payment("p2", AMOUNT));
        assertFound(Breach.DUPLICATE);
    }

    @Test
    void aReusedKeyThatTookEffectIsADuplicate() {
        paidOnce();
        charges.put(intent.reusedReference(), List.of(AMOUNT + 1));
        assertFound(Breach.DUPLICATE);
    }

    @Test
    void anAcknowledgedPaymentWithoutARowIsLost() {
        paidOnce();
        payments.clear();
        ledger.clear();
        assertFound(Breach.LOST);
    }

    @Test
    void anAcknowledgedPaymentWithoutAChargeIsLost() {
        paidOnce();
        charges.clear();
        assertFound(Breach.LOST);
    }

    @Test
    void anAcknowledgedPaymentOfAnotherIdIsLost() {
        paidOnce();
        booked(new Payment("p2", AMOUNT));
        assertFound(Breach.LOST);
    }

    @Test
    void anAcknowledgedPaymentOfAnotherAmountIsLost() {
        paidOnce();
        payments.put(KEY, List.of(new Payment("p1", 1)));
        ledger.put(KEY, List.of(new Payment("p1", 1)));
        assertFound(Breach.LOST);
    }

    @Test
    void aChargeOfAnotherAmountIsLost() {
        paidOnce();
        charges.put(KEY, List.of(1L));
        assertFound(Breach.LOST);
    }

    @Test
    void anAcknowledgedPaymentThatNobodyCanFetchIsLost() {
        paidOnce();
        history.fetched("", own(404));
        assertFound(Breach.LOST);
    }

    @Test
    void anAcknowledgedPaymentThatWasNeverFetchedIsLost() {
        seen(created("p1", AMOUNT));
        booked(new Payment("p1", AMOUNT));
        assertFound(Breach.LOST);
    }

    @Test
    void anAcknowledgementIsNotForgottenWhenTheOutcomeIsUnknownLater() {
        given(Mode.LEASE, "tok_visa");
        seen(created("p1", AMOUNT), problem(409, "outcome-unknown"));
        assertFound(Breach.LOST);
        assertThat(audit().unknown()).isEqualTo(1);
    }

    @Test
    void aReplayOfAnotherBodyIsDivergent() {
        paidOnce();
        seen(replayOf(created("p2", AMOUNT)));
        assertFound(Breach.DIVERGENT);
    }

    @Test
    void aReplayWithAnotherHeaderIsDivergent() {
        paidOnce();
        seen(replayOf(created("p1", AMOUNT).with(new Answer.Field("X-More", "1"))));
        assertFound(Breach.DIVERGENT);
    }

    @Test
    void aReplayOfAnotherStatusIsDivergent() {
        paidOnce();
        seen(replayOf(answer(200, "{\"id\": \"p1\", \"amount\": 1250}", "Location", "/payments/p1")));
        assertFound(Breach.DIVERGENT);
    }

    @Test
    void aHandlerThatRunsAgainAfterItsFinalAnswerIsDivergent() {
        paidOnce();
        seen(own(502));
        assertFound(Breach.DIVERGENT);
    }

    @Test
    void anAnswerOfAnotherAmountIsDivergent() {
        given(Mode.SAME_TRANSACTION, "tok_declined");
        seen(created("p1", AMOUNT));
        history.fetched("", answer(200, "{\"id\": \"p1\", \"amount\": 1250}"));
        booked(new Payment("p1", AMOUNT));
        assertFound(Breach.DIVERGENT, Breach.DIVERGENT);
    }

    @Test
    void aRefusalOfWhatCanBePaidIsDivergent() {
        seen(own(402));
        assertFound(Breach.DIVERGENT);
    }

    @Test
    void aRefusalThatTookEffectIsDivergent() {
        given(Mode.SAME_TRANSACTION, "tok_declined");
        seen(own(402), replayOf(own(402)));
        assertFound();
        charges.put(KEY, List.of(AMOUNT));
        assertFound(Breach.DIVERGENT);
    }

    @Test
    void aReusedKeyMustBeToldSo() {
        paidOnce();
        history.reuseAnswered("", problem(422, "key-reused"));
        history.reuseAnswered("", own(503));
        assertFound();
        history.reuseAnswered("", replayOf(created("p1", AMOUNT)));
        assertFound(Breach.DIVERGENT);
    }

    @Test
    void theOwnKeyIsNeverReused() {
        paidOnce();
        seen(problem(422, "key-reused"));
        // And it never came to its answer again.
        assertThat(audit().findings()).extracting(Finding::breach).contains(Breach.DIVERGENT);
    }

    @Test
    void aTombstoneIsDivergent() {
        paidOnce();
        seen(problem(409, "response-not-replayable"));
        assertFound(Breach.DIVERGENT);
    }

    @Test
    void anUnknownOutcomeIsCountedWhereTheModeKnowsSuch() {
        given(Mode.LEASE, "tok_visa");
        seen(problem(409, "outcome-unknown"));
        inFlight.add(KEY);
        charges.put(KEY, List.of(AMOUNT));
        assertFound();
        assertThat(audit().unknown()).isEqualTo(1);
    }

    @Test
    void anUnknownOutcomeIsABreachWhereTheModeKnowsNone() {
        for (Mode each : List.of(Mode.SAME_TRANSACTION, Mode.JOINED_LEASE)) {
            given(each, "tok_visa");
            seen(problem(409, "outcome-unknown"));
            assertFound(Breach.LOST);
        }
    }

    @Test
    void aRowWithoutAnAnswerThatNobodyWasToldOfIsABreach() {
        given(Mode.LEASE, "tok_visa");
        paidOnce();
        inFlight.add(KEY);
        assertFound(Breach.LOST);
    }

    @Test
    void aRequestThatNeverEndsIsABreach() {
        for (Mode each : Mode.values()) {
            given(each, "tok_visa");
            seen(problem(409, "in-progress"));
            history.broken("", new IOException("connection reset"));
            assertFound(Breach.LOST);
        }
    }

    @Test
    void aFailureOfTheGatewayIsTheEndWhereNothingIsKept() {
        given(Mode.SAME_TRANSACTION, "tok_gateway_error");
        seen(own(502), own(502));
        assertFound();
        charges.put(KEY, List.of(AMOUNT));
        assertFound(Breach.DIVERGENT);
    }

    @Test
    void aFailureIsFinalWhereItIsKeptAndRepeated() {
        given(Mode.LEASE, "tok_visa");
        seen(own(500));
        assertFound(Breach.LOST);
        seen(replayOf(own(500)));
        // Nobody knows what had happened by then, and once is once.
        booked(new Payment("p1", AMOUNT));
        assertFound();
    }

    @Test
    void anotherAnswerAfterAKeptFailureIsDivergent() {
        given(Mode.LEASE, "tok_visa");
        seen(own(500));
        paidOnce();
        assertThat(audit().findings()).extracting(Finding::breach).containsOnly(Breach.DIVERGENT);
    }

    @Test
    void aRowThatNobodyAskedForIsADuplicate() {
        paidOnce();
        charges.put("other", List.of(1L));
        assertThat(audit().findings()).extracting(Finding::key).containsExactly("other");
        assertThat(audit().count(Breach.DUPLICATE)).isEqualTo(1);
    }

    @Test
    void aPaymentThatIsNotBookedIsAnImbalance() {
        paidOnce();
        ledger.clear();
        assertFound(Breach.UNBALANCED);
        assertThat(audit().balance()).hasToString("1 payments of 1250 in sum, 0 entries of 0 in sum");
    }

    @Test
    void aPaymentThatIsBookedTwiceIsAnImbalance() {
        paidOnce();
        ledger.put(KEY, List.of(new Payment("p1", AMOUNT), new Payment("p1", AMOUNT)));
        assertFound(Breach.UNBALANCED);
        assertThat(audit().balance()).hasToString("1 payments of 1250 in sum, 2 entries of 2500 in sum");
    }

    @Test
    void aPaymentThatIsBookedWithAnotherAmountIsAnImbalance() {
        paidOnce();
        ledger.put(KEY, List.of(new Payment("p1", AMOUNT + 1)));
        assertFound(Breach.UNBALANCED);
    }

    @Test
    void aPaymentThatIsBookedInPlaceOfAnotherIsAnImbalanceThoughTheSumIsRight() {
        given(Mode.UNPROTECTED, "tok_visa");
        paidOnce();
        booked(new Payment("p1", AMOUNT), new Payment("p2", AMOUNT));
        ledger.put(KEY, List.of(new Payment("p1", AMOUNT), new Payment("p1", AMOUNT)));
        assertFound(Breach.DUPLICATE, Breach.UNBALANCED);
    }

    @Test
    void anEntryThatNobodyPaidForIsAnImbalance() {
        paidOnce();
        ledger.put("other", List.of(new Payment("p9", 1)));
        assertThat(audit().findings()).extracting(Finding::key).containsExactly("other");
        assertThat(audit().count(Breach.UNBALANCED)).isEqualTo(1);
    }

    @Test
    void twoPaymentsThatAreBookedEachAreNoImbalance() {
        given(Mode.UNPROTECTED, "tok_visa");
        paidOnce();
        booked(new Payment("p1", AMOUNT), new Payment("p2", AMOUNT));
        assertFound(Breach.DUPLICATE);
    }
}
