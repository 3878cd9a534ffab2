// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Everything that clients saw of one key. Thread-safe. */
final class History {

    /** Enough to see what happened; who repeats more often than this goes on unseen. */
    private static final int MAX_LINES = 60;

    private final Intent intent;
    private final Mode mode;
    private final List<String> lines = new ArrayList<>();
    private final List<Answer> divergent = new ArrayList<>();
    private final List<String> breaches = new ArrayList<>();
    private int requests;
    private int deliberate;
    private @Nullable Answer kept;
    private @Nullable Answer success;
    private @Nullable Answer latest;
    private @Nullable Answer fetched;
    private @Nullable Verdict verdict;
    private boolean settled;

    History(Intent intent, Mode mode) {
        this.intent = intent;
        this.mode = mode;
    }

    Intent intent() {
        return intent;
    }

    /** An answer to the key's own request. */
    synchronized Verdict answered(String when, Answer answer) {
        Verdict judged = Verdict.of(answer, mode);
        note(when
                + answer.status()
                + (answer.isReplay() ? " replay" : "")
                + (judged == Verdict.KEPT ? "" : " " + answer.member("type").orElse("")));
        requests++;
        verdict = judged;
        latest = answer;
        if (answer.isSuccess() && success == null) {
            success = answer;
        }
        if (judged == Verdict.KEPT) {
            if (kept == null) {
                kept = answer;
            } else if (!answer.isSameAs(kept)) {
                divergent.add(answer);
            }
            // A failure that is kept is believed once it is repeated: until then it is a failure like any other.
            settled |= answer.status() < 500 || answer.isReplay();
        } else if (judged == Verdict.AGAIN || judged == Verdict.UNKNOWN) {
            if (kept != null && judged == Verdict.AGAIN && !isTransient(answer)) {
                divergent.add(answer);
            }
        } else {
            breaches.add("answered with " + answer);
        }
        return judged;
    }

    /** In flight, or store away: says nothing about what is kept. */
    private static boolean isTransient(Answer answer) {
        return answer.status() == 409 || answer.status() == 503;
    }

    /** A request that had no answer, or not all of one. */
    synchronized void broken(String when, Exception cause) {
        requests++;
        note(when + "broken: " + cause.getMessage());
    }

    /** The answer to another request under the same key, after this one had its final answer. */
    synchronized void reuseAnswered(String when, Answer answer) {
        requests++;
        note(when + "reuse: " + answer.status());
        Verdict judged = Verdict.of(answer, mode);
        if (judged != Verdict.REUSED && judged != Verdict.AGAIN) {
            breaches.add("another request under this key was answered with " + answer);
        }
    }

    /** What asking for the acknowledged payment gave. */
    synchronized void fetched(String when, Answer answer) {
        note(when + "fetched: " + answer.status());
        fetched = answer;
    }

    /** Counts a repetition that no broken answer asked for. */
    synchronized void repeatedOnPurpose() {
        deliberate++;
    }

    synchronized boolean wasRepeatedOnPurpose() {
        return deliberate > 0;
    }

    private void note(String line) {
        if (lines.size() < MAX_LINES) {
            lines.add(line);
        }
    }

    /** Whether a client has its final answer. */
    synchronized boolean isSettled() {
        return settled;
    }

    synchronized int requests() {
        return requests;
    }

    /** The final answer that was seen first. */
    synchronized Optional<Answer> kept() {
        return Optional.ofNullable(kept);
    }

    /** The first answer that said the payment is made. */
    synchronized Optional<Answer> success() {
        return Optional.ofNullable(success);
    }

    /** The last answer to the key's own request. */
    synchronized Optional<Answer> latest() {
        return Optional.ofNullable(latest);
    }

    /** What asking for the acknowledged payment gave in the end. */
    synchronized Optional<Answer> fetched() {
        return Optional.ofNullable(fetched);
    }

    /** What the last answer meant. */
    synchronized Optional<Verdict> verdict() {
        return Optional.ofNullable(verdict);
    }

    /** Answers that are not what the first final one was. */
    synchronized List<Answer> divergent() {
        return List.copyOf(divergent);
    }

    /** Answers that should never be given. */
    synchronized List<String> breaches() {
        return List.copyOf(breaches);
    }

    /** Everything that was seen, a line each. */
    synchronized List<String> lines() {
        return List.copyOf(lines);
    }

    @Override
    public synchronized String toString() {
        return intent + "\n    " + String.join("\n    ", lines);
    }
}
