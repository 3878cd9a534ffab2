// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;

/**
 * One client: sends a request, to either instance, until it has a final answer, with the same key each time, and notes
 * what it gets. Not thread-safe.
 */
final class Client implements AutoCloseable {

    private static final Duration PATIENCE = Duration.ofSeconds(10);
    private static final int LONGEST_PAUSE = 800;

    /** After so many a client believes that there will be no other answer. */
    private static final int BELIEVED = 3;

    private final List<HttpWire> wires;
    private final SplittableRandom random;
    private final Stopwatch clock;

    Client(List<Instance> instances, SplittableRandom random, Stopwatch clock) {
        this.wires = instances.stream()
                .map(instance -> new HttpWire(instance.clientSide().address(), PATIENCE))
                .toList();
        this.random = random;
        this.clock = clock;
    }

    /**
     * Sends the key's request until it is settled, until the same answer has come often enough to be believed where none
     * is ever final, or until the deadline.
     */
    void pursue(History history, int first, long deadlineMillis) throws InterruptedException {
        int instance = first;
        int unknown = 0;
        int failed = 0;
        for (int tries = 0; ; tries++) {
            Verdict verdict = Verdict.AGAIN;
            try {
                String when = when(instance);
                Answer answer = wires.get(instance).exchange(history.intent().request());
                verdict = history.answered(when, answer);
                unknown += verdict == Verdict.UNKNOWN ? 1 : 0;
                failed += answer.status() == 502 && history.intent().failsAtGateway() ? 1 : 0;
            } catch (IOException e) {
                history.broken(when(instance), e);
            }
            // Its own answer: what a twin was told is no answer to this client.
            if ((verdict == Verdict.KEPT && history.isSettled())
                    || verdict == Verdict.REUSED
                    || verdict == Verdict.WRONG
                    || unknown >= BELIEVED
                    || failed >= BELIEVED
                    || clock.millis() >= deadlineMillis) {
                return;
            }
            Thread.sleep(random.nextInt(20, 20 + Math.min(LONGEST_PAUSE, 40 << Math.min(tries, 8))));
            instance = random.nextInt(wires.size());
        }
    }

    /** Sends the key's request once more, though it has its answer. */
    void repeat(History history, int instance) {
        history.repeatedOnPurpose();
        String when = when(instance);
        try {
            history.answered(when, wires.get(instance).exchange(history.intent().request()));
        } catch (IOException e) {
            history.broken(when, e);
        }
    }

    /** Sends another request under the same key. */
    void reuse(History history, int instance) {
        String when = when(instance);
        try {
            history.reuseAnswered(
                    when, wires.get(instance).exchange(history.intent().reuse()));
        } catch (IOException e) {
            history.broken(when, e);
        }
    }

    /** Asks for the payment that was acknowledged, until there is an answer of substance. */
    void fetch(History history, String id, long deadlineMillis) throws InterruptedException {
        for (int tries = 0; ; tries++) {
            int instance = tries % wires.size();
            String when = when(instance);
            try {
                Answer answer = wires.get(instance).exchange(history.intent().fetch(id));
                if (answer.status() < 500 || clock.millis() >= deadlineMillis) {
                    history.fetched(when, answer);
                    return;
                }
            } catch (IOException e) {
                history.broken(when, e);
            }
            if (clock.millis() >= deadlineMillis) {
                return;
            }
            Thread.sleep(50);
        }
    }

    private String when(int instance) {
        return clock + " " + (char) ('A' + instance) + ": ";
    }

    @Override
    public void close() {
        wires.forEach(HttpWire::close);
    }
}
