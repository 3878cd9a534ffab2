// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.idemkey.faults.Finding.Breach;

/**
 * Holds what clients saw against what the tables say.
 *
 * <table>
 * <caption>What must hold for each key</caption>
 * <tr><td>duplicate</td><td>one payment and one charge at most; none for another request under its key</td></tr>
 * <tr><td>lost</td><td>a payment that was acknowledged is there, with its charge, id and amount, and can be fetched; a
 * request comes to a final answer, or is told that its outcome is unknown, in a mode that knows such</td></tr>
 * <tr><td>divergent</td><td>all final answers are the same, they are ones that the request can have, and the tables
 * don't contradict them</td></tr>
 * <tr><td>unbalanced</td><td>the ledger has each payment that there is just once, with its amount, and nothing else; so
 * that both have the same sum</td></tr>
 * </table>
 */
final class Audit {

    private final Mode mode;
    private final Books books;
    private final List<Finding> findings = new ArrayList<>();
    private int unknown;

    private Audit(Mode mode, Books books) {
        this.mode = mode;
        this.books = books;
    }

    /**
     * The result.
     *
     * @param findings each broken promise
     * @param unknown how many keys were reported as of unknown outcome in the end
     * @param balance what was paid, and what was booked
     */
    record Result(List<Finding> findings, int unknown, Books.Balance balance) {

        /** How many keys have a finding of this kind. */
        long count(Breach breach) {
            return findings.stream()
                    .filter(finding -> finding.breach() == breach)
                    .map(Finding::key)
                    .distinct()
                    .count();
        }
    }

    /** Judges all keys, and the rows that belong to none. */
    static Result of(Mode mode, Collection<History> histories, Books books) {
        Audit audit = new Audit(mode, books);
        Set<String> known = new HashSet<>();
        for (History history : histories) {
            known.add(history.intent().key());
            known.add(history.intent().reusedReference());
            audit.judge(history);
        }
        audit.strangers(known);
        audit.ledger(histories);
        return new Result(List.copyOf(audit.findings), audit.unknown, books.balance());
    }

    private void judge(History history) {
        Intent intent = history.intent();
        List<Books.Payment> payments = books.paymentsOf(intent.key());
        List<Long> charges = books.chargesOf(intent.key());
        if (payments.size() > 1 || charges.size() > 1) {
            report(Breach.DUPLICATE, history, payments.size() + " payments and " + charges.size() + " charges");
        }
        int reused = books.paymentsOf(intent.reusedReference()).size()
                + books.chargesOf(intent.reusedReference()).size();
        if (reused > 0) {
            report(Breach.DUPLICATE, history, "another request under this key took effect");
        }
        history.success().ifPresent(answer -> acknowledged(history, answer, payments, charges));
        answers(history, payments, charges);
        end(history);
    }

    private void acknowledged(History history, Answer answer, List<Books.Payment> payments, List<Long> charges) {
        long amount = history.intent().amount();
        String id = answer.member("id").orElse("");
        if (payments.isEmpty() || charges.isEmpty()) {
            report(
                    Breach.LOST,
                    history,
                    "acknowledged, but there are " + payments.size() + " payments and " + charges.size() + " charges");
            return;
        }
        if (payments.stream().noneMatch(new Books.Payment(id, amount)::equals)) {
            report(Breach.LOST, history, "acknowledged was " + id + ", but there is " + payments);
        }
        if (!charges.contains(amount)) {
            report(Breach.LOST, history, "another amount was charged: " + charges);
        }
        Optional<Answer> fetched = history.fetched();
        if (fetched.isEmpty()) {
            report(Breach.LOST, history, "the acknowledged payment could not be fetched");
        } else if (fetched.get().status() != 200
                || !fetched.get().member("id").equals(Optional.of(id))
                || !fetched.get().member("amount").equals(Optional.of(Long.toString(amount)))) {
            report(Breach.LOST, history, "fetching the acknowledged payment gave " + fetched.get());
        }
    }

    private void answers(History history, List<Books.Payment> payments, List<Long> charges) {
        Intent intent = history.intent();
        for (Answer other : history.divergent()) {
            report(
                    Breach.DIVERGENT,
                    history,
                    "first " + history.kept().map(Answer::toString).orElse("none") + ", then " + other);
        }
        for (String breach : history.breaches()) {
            report(Breach.DIVERGENT, history, breach);
        }
        Optional<Answer> kept = history.kept();
        if (kept.filter(Predicate.not(answer -> canBe(answer, intent))).isPresent()) {
            report(Breach.DIVERGENT, history, "this request can't be answered with " + kept.get());
        }
        boolean refused = kept.filter(answer -> !answer.isSuccess() && answer.status() < 500)
                .isPresent();
        if ((refused || !intent.isChargeable()) && !(payments.isEmpty() && charges.isEmpty())) {
            report(
                    Breach.DIVERGENT,
                    history,
                    "refused, but there are " + payments.size() + " payments and " + charges.size() + " charges");
        }
    }

    private boolean canBe(Answer answer, Intent intent) {
        int status = answer.status();
        if (mode.keepsFailures() && (status == 500 || status == 502 || status == 504)) {
            return true;
        }
        return intent.isChargeable()
                ? status == 201 && answer.member("amount").equals(Optional.of(Long.toString(intent.amount())))
                : status == 402 && intent.source().equals("tok_declined");
    }

    /** What became of it in the end, when everything was up again and the client had asked once more. */
    private void end(History history) {
        Intent intent = history.intent();
        boolean isUnknown = history.verdict().filter(Verdict.UNKNOWN::equals).isPresent();
        if (isUnknown) {
            unknown++;
            if (mode.endsEveryRequest()) {
                report(Breach.LOST, history, "reported as unknown, in a mode that knows no such outcome");
            }
        } else if (books.inFlight().contains(intent.key())) {
            report(Breach.LOST, history, "its row has no answer, but nobody was told that the outcome is unknown");
        } else if (!history.isSettled() && !failsForGood(history)) {
            report(Breach.LOST, history, "never came to a final answer");
        }
    }

    /** The one request that a mode which undoes failures never ends: the gateway fails each time, and nothing is done. */
    private boolean failsForGood(History history) {
        return !mode.keepsFailures()
                && history.intent().failsAtGateway()
                && history.latest().filter(answer -> answer.status() == 502).isPresent();
    }

    private void strangers(Set<String> known) {
        Set<String> references = new HashSet<>(books.payments().keySet());
        references.addAll(books.charges().keySet());
        references.addAll(books.inFlight());
        references.removeAll(known);
        for (String reference : references) {
            findings.add(new Finding(Breach.DUPLICATE, reference, "a row of a request that no client made", List.of()));
        }
    }

    /** Whatever the mode, and however many payments there are: an event for each, and an entry for each event. */
    private void ledger(Collection<History> histories) {
        Map<String, History> byKey = new HashMap<>();
        histories.forEach(history -> byKey.put(history.intent().key(), history));
        Set<String> references = new TreeSet<>(books.payments().keySet());
        references.addAll(books.ledger().keySet());
        for (String reference : references) {
            List<Books.Payment> unbooked = new ArrayList<>(books.paymentsOf(reference));
            List<Books.Payment> unpaid = new ArrayList<>();
            for (Books.Payment entry : books.entriesOf(reference)) {
                if (!unbooked.remove(entry)) {
                    unpaid.add(entry);
                }
            }
            if (!unbooked.isEmpty() || !unpaid.isEmpty()) {
                History history = byKey.get(reference);
                findings.add(new Finding(
                        Breach.UNBALANCED,
                        reference,
                        "paid and not booked: " + unbooked + ", booked and not paid: " + unpaid,
                        history == null ? List.of() : history.lines()));
            }
        }
    }

    private void report(Breach breach, History history, String what) {
        findings.add(new Finding(breach, history.intent().key(), what, history.lines()));
    }
}
