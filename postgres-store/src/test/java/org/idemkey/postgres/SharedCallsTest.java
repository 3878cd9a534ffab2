// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Questions are numbers, their answers the tenfold; negative ones are refused, together with their neighbours. */
class SharedCallsTest {

    private static final Duration LONG = Duration.ofMinutes(1);

    private final List<List<Integer>> asked = Collections.synchronizedList(new ArrayList<>());
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final List<Thread> callers = Collections.synchronizedList(new ArrayList<>());
    private final CountDownLatch firstMayEnd = new CountDownLatch(1);
    private Future<Integer> first;

    @AfterEach
    void stop() {
        firstMayEnd.countDown();
        threads.shutdownNow();
    }

    private List<Integer> tenfold(List<Integer> questions) throws SQLException {
        asked.add(questions);
        if (questions.stream().anyMatch(question -> question < 0)) {
            throw new SQLException("negative", "22003");
        }
        return questions.stream().map(question -> 10 * question).toList();
    }

    /** The first call waits for the latch; whoever comes meanwhile has to wait for it. */
    private List<Integer> tenfoldAfterLatch(List<Integer> questions) throws SQLException {
        if (asked.isEmpty()) {
            asked.add(questions);
            awaitLatch();
            return questions.stream().map(question -> 10 * question).toList();
        }
        return tenfold(questions);
    }

    private void awaitLatch() {
        try {
            firstMayEnd.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static SharedCalls.Limits limits(int questions, Duration patience) {
        return new SharedCalls.Limits(1, questions, 1000, patience);
    }

    private SharedCalls<Integer, Integer> busy(SharedCalls.Limits limits) {
        SharedCalls<Integer, Integer> calls = new SharedCalls<>(limits, question -> question, this::tenfoldAfterLatch);
        first = ask(calls, 1);
        await().until(() -> asked.size() == 1);
        return calls;
    }

    /** Asks on another thread, and returns once that one waits, or has its answer. */
    private Future<Integer> ask(SharedCalls<Integer, Integer> calls, int question) {
        int before = callers.size();
        Future<Integer> answer = threads.submit(() -> {
            callers.add(Thread.currentThread());
            return calls.ask(question);
        });
        await().until(() -> callers.size() > before);
        Thread caller = callers.get(before);
        await().until(() -> answer.isDone()
                || caller.getState() == Thread.State.WAITING
                || caller.getState() == Thread.State.TIMED_WAITING);
        return answer;
    }

    @Test
    void aLoneCallerCallsAtOnceOnItsOwnThread() throws Exception {
        List<Thread> calledOn = new ArrayList<>();
        SharedCalls<Integer, Integer> calls = new SharedCalls<>(limits(8, LONG), question -> 1, questions -> {
            calledOn.add(Thread.currentThread());
            return tenfold(questions);
        });

        assertThat(calls.ask(1)).isEqualTo(10);
        assertThat(calls.ask(2)).isEqualTo(20);

        assertThat(asked).containsExactly(List.of(1), List.of(2));
        assertThat(calledOn).containsOnly(Thread.currentThread());
    }

    @Test
    void whoeverComesMeanwhileSharesTheNextCall() throws Exception {
        SharedCalls<Integer, Integer> calls = busy(limits(8, LONG));
        Future<Integer> two = ask(calls, 2);
        Future<Integer> three = ask(calls, 3);
        Future<Integer> four = ask(calls, 4);

        firstMayEnd.countDown();

        assertThat(first.get()).isEqualTo(10);
        assertThat(List.of(two.get(), three.get(), four.get())).containsExactly(20, 30, 40);
        assertThat(asked).containsExactly(List.of(1), List.of(2, 3, 4));
    }

    @Test
    void aCallHasNoMoreQuestionsThanItsLimit() throws Exception {
        SharedCalls<Integer, Integer> calls = busy(limits(2, LONG));
        Future<Integer> two = ask(calls, 2);
        Future<Integer> three = ask(calls, 3);
        Future<Integer> four = ask(calls, 4);

        firstMayEnd.countDown();

        assertThat(List.of(two.get(), three.get(), four.get())).containsExactly(20, 30, 40);
        assertThat(asked).containsExactly(List.of(1), List.of(2, 3), List.of(4));
    }

    @Test
    void aQuestionOverTheWeightGoesByItself() throws Exception {
        SharedCalls<Integer, Integer> calls = busy(limits(8, LONG));
        Future<Integer> two = ask(calls, 2);
        Future<Integer> heavy = ask(calls, 5000);
        Future<Integer> four = ask(calls, 4);

        firstMayEnd.countDown();

        assertThat(List.of(two.get(), heavy.get(), four.get())).containsExactly(20, 50000, 40);
        assertThat(asked).containsExactly(List.of(1), List.of(2), List.of(5000), List.of(4));
    }

    @Test
    void aBadQuestionFailsAlone() throws Exception {
        SharedCalls<Integer, Integer> calls = busy(limits(8, LONG));
        Future<Integer> two = ask(calls, 2);
        Future<Integer> bad = ask(calls, -3);
        Future<Integer> four = ask(calls, 4);

        firstMayEnd.countDown();

        assertThat(List.of(two.get(), four.get())).containsExactly(20, 40);
        assertThatThrownBy(bad::get)
                .cause()
                .isInstanceOfSatisfying(
                        SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("22003"));
    }

    @Test
    void aBrokenConnectionFailsAllAndIsNotTriedForEach() throws Exception {
        AtomicInteger tries = new AtomicInteger();
        SharedCalls<Integer, Integer> calls = new SharedCalls<>(limits(8, LONG), question -> 1, questions -> {
            if (tries.incrementAndGet() == 1) {
                return tenfoldAfterLatch(questions);
            }
            throw new SQLException("broken", "08006");
        });
        first = ask(calls, 1);
        await().until(() -> asked.size() == 1);
        Future<Integer> two = ask(calls, 2);
        Future<Integer> three = ask(calls, 3);

        firstMayEnd.countDown();

        for (Future<Integer> answer : List.of(two, three)) {
            assertThatThrownBy(answer::get)
                    .cause()
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("08006"));
        }
        assertThat(tries).hasValue(2);
    }

    @Test
    void anErrorOfOneCallReachesItsCallersAndTheNextOneIsMade() throws Exception {
        AtomicInteger tries = new AtomicInteger();
        SharedCalls<Integer, Integer> calls = new SharedCalls<>(limits(8, LONG), question -> 1, questions -> {
            if (tries.incrementAndGet() == 1) {
                throw new StackOverflowError("once");
            }
            return tenfold(questions);
        });

        assertThatThrownBy(() -> calls.ask(1)).hasRootCauseMessage("once");
        assertThat(calls.ask(2)).isEqualTo(20);
    }

    @Test
    void aTurnThatDoesNotComeInTimeIsNeverAsked() throws Exception {
        SharedCalls<Integer, Integer> calls = busy(limits(8, Duration.ofMillis(1)));

        assertThatThrownBy(() -> calls.ask(2)).isInstanceOf(SQLTimeoutException.class);

        firstMayEnd.countDown();
        await().untilAsserted(() -> assertThat(calls.ask(3)).isEqualTo(30));
        assertThat(asked).doesNotContain(List.of(2)).allMatch(questions -> !questions.contains(2));
    }

    @Test
    void anInterruptedCallerGetsItsAnswerAndStaysInterrupted() throws Exception {
        SharedCalls<Integer, Integer> calls = busy(limits(8, LONG));
        AtomicInteger interrupted = new AtomicInteger();
        Future<Integer> two = threads.submit(() -> {
            Thread.currentThread().interrupt();
            int answer = calls.ask(2);
            interrupted.addAndGet(Thread.currentThread().isInterrupted() ? 1 : 0);
            return answer;
        });

        firstMayEnd.countDown();

        assertThat(two.get()).isEqualTo(20);
        assertThat(interrupted).hasValue(1);
    }

    @Test
    void noMoreCallsAreOnTheirWayThanMayBe() throws InterruptedException, ExecutionException {
        AtomicInteger now = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        SharedCalls<Integer, Integer> calls =
                new SharedCalls<>(new SharedCalls.Limits(2, 4, 1000, LONG), question -> 1, questions -> {
                    most.accumulateAndGet(now.incrementAndGet(), Math::max);
                    List<Integer> answers = tenfold(questions);
                    now.decrementAndGet();
                    return answers;
                });
        List<Future<Integer>> sums = new ArrayList<>();
        for (int thread = 0; thread < 16; thread++) {
            sums.add(threads.submit(() -> {
                int sum = 0;
                for (int i = 1; i <= 1000; i++) {
                    sum += calls.ask(i);
                }
                return sum;
            }));
        }

        for (Future<Integer> sum : sums) {
            assertThat(sum.get()).isEqualTo(5_005_000);
        }
        assertThat(most.get()).isLessThanOrEqualTo(2);
        assertThat(asked.stream().mapToInt(List::size).sum()).isEqualTo(16_000);
        assertThat(asked).allMatch(questions -> questions.size() <= 4);
    }
}
