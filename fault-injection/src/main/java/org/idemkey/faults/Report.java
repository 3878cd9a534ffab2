// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.idemkey.faults.Finding.Breach;

/**
 * What a campaign has to say.
 *
 * @param mode what was tried
 * @param histories what clients saw
 * @param faults what was done, by kind
 * @param skipped how many faults were left out, since the service had not got over the ones before
 * @param ownExits how often an instance ended though nobody had killed it: it couldn't start without its database
 * @param audit what the audit says
 * @param troubles what went wrong with the campaign's own instances: they didn't come back, or didn't end when asked
 */
record Report(
        Mode mode,
        List<History> histories,
        Map<Fault.Kind, Integer> faults,
        int skipped,
        int ownExits,
        Audit.Result audit,
        List<String> troubles) {

    private static final int MAX_SHOWN = 20;

    /** How many faults there were. */
    int faultCount() {
        return faults.values().stream().mapToInt(Integer::intValue).sum();
    }

    /** Whether every promise was kept. */
    boolean isClean() {
        return audit.findings().isEmpty() && troubles.isEmpty();
    }

    /** How many keys took effect more than once though their clients only ever repeated what had no final answer. */
    long duplicatesByFaultsAlone() {
        Map<String, History> byKey = new TreeMap<>();
        histories.forEach(history -> byKey.put(history.intent().key(), history));
        return audit.findings().stream()
                .filter(finding -> finding.breach() == Breach.DUPLICATE)
                .map(finding -> byKey.get(finding.key()))
                .filter(history -> history != null
                        && !history.wasRepeatedOnPurpose()
                        && history.intent().twist() != Intent.Twist.REUSE)
                .distinct()
                .count();
    }

    /** Everything but the last line. */
    String details() {
        StringBuilder text = new StringBuilder();
        audit.findings().stream()
                .limit(MAX_SHOWN)
                .forEach(finding -> text.append(finding).append('\n'));
        if (audit.findings().size() > MAX_SHOWN) {
            text.append("… and ").append(audit.findings().size() - MAX_SHOWN).append(" more\n");
        }
        troubles.forEach(trouble -> text.append("trouble: ").append(trouble).append('\n'));
        text.append("faults: ").append(new TreeMap<>(faults)).append('\n');
        text.append("faults left out: ")
                .append(skipped)
                .append("; starts that failed: ")
                .append(ownExits)
                .append('\n');
        text.append("requests: ")
                .append(histories.stream().mapToInt(History::requests).sum())
                .append("; last answers: ")
                .append(lastAnswers())
                .append('\n');
        text.append("ledger: ").append(audit.balance()).append('\n');
        if (mode == Mode.UNPROTECTED) {
            text.append("unprotected, so duplicates must be found: ")
                    .append(audit.count(Breach.DUPLICATE))
                    .append(" keys, ")
                    .append(duplicatesByFaultsAlone())
                    .append(" of them by faults alone\n");
        }
        return text.toString();
    }

    private Map<String, Integer> lastAnswers() {
        Map<String, Integer> counts = new TreeMap<>();
        for (History history : histories) {
            String last = history.latest()
                    .map(answer -> answer.status()
                            + (history.verdict().filter(Verdict.UNKNOWN::equals).isPresent() ? " unknown" : ""))
                    .orElse("none");
            counts.merge(last, 1, Integer::sum);
        }
        return counts;
    }

    /** The last line. */
    String summary() {
        return "operations=" + histories.size() + " faults=" + faultCount() + " duplicates="
                + audit.count(Breach.DUPLICATE) + " lost=" + audit.count(Breach.LOST) + " divergent="
                + audit.count(Breach.DIVERGENT) + " unknown=" + audit.unknown() + " unbalanced="
                + audit.count(Breach.UNBALANCED);
    }
}
