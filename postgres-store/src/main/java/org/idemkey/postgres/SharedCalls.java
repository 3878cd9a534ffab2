// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Lets callers that come at the same time share one call of the database, as group commit lets them share one flush.
 * There is no thread and no timer of its own: whoever finds nobody calling calls at once, on its own thread; whoever
 * comes meanwhile waits, and all of those go together in the next call, which one of them makes for all.
 *
 * <table>
 * <caption>What becomes of a caller's turn</caption>
 * <tr><th>state</th><th>becomes</th><th>when</th></tr>
 * <tr><td>waiting</td><td>appointed</td><td>a call has ended, and this turn is the first in the queue: it calls now</td></tr>
 * <tr><td>waiting</td><td>taken</td><td>another turn's call has it among its questions</td></tr>
 * <tr><td>waiting</td><td>given up</td><td>its patience ends first: its question is never asked</td></tr>
 * <tr><td>taken</td><td>answered</td><td>that call has ended, one way or the other</td></tr>
 * </table>
 *
 * <p>A question that fails doesn't fail its neighbours: if a shared call fails, each of its questions is asked again by
 * itself, unless it was the connection that failed, which is nobody's fault and would fail them all. So a question must
 * be one that can be asked twice.
 *
 * <p>Thread-safe. Waiting is bounded by the patience, and then by the bounds of the call itself.
 *
 * @param <Q> what is asked
 * @param <A> what is answered
 */
final class SharedCalls<Q, A extends @Nullable Object> {

    private final Call<Q, A> call;
    private final Limits limits;
    private final ToLongFunction<Q> weight;
    private final ReentrantLock lock = new ReentrantLock();
    /** Not empty only while as many calls are on their way as may be. */
    private final Deque<Turn<Q, A>> queue = new ArrayDeque<>();

    private int calls;

    SharedCalls(Limits limits, ToLongFunction<Q> weight, Call<Q, A> call) {
        this.limits = limits;
        this.weight = weight;
        this.call = call;
    }

    /** Asks for all at once; the answers are in the questions' order. All or none of them have been carried out. */
    @FunctionalInterface
    interface Call<Q, A extends @Nullable Object> {
        List<A> ask(List<Q> questions) throws SQLException;
    }

    /**
     * How much is shared.
     *
     * @param calls how many may be on their way at once
     * @param questions how many go into one call at most
     * @param weight how much these may weigh together; a heavier one goes by itself
     * @param patience how long a caller waits for its turn
     */
    record Limits(int calls, int questions, long weight, Duration patience) {}

    /**
     * Asks, alone or with others.
     *
     * @throws SQLTimeoutException if the turn didn't come in time; then nothing was asked
     * @throws SQLException what the call threw for this question
     */
    A ask(Q question) throws SQLException {
        Turn<Q, A> turn = new Turn<>(question);
        if (begins(turn) || await(turn)) {
            callFor(turn);
        }
        return turn.result();
    }

    private boolean begins(Turn<Q, A> turn) {
        lock.lock();
        try {
            if (calls < limits.calls()) {
                calls++;
                return true;
            }
            queue.add(turn);
            return false;
        } finally {
            lock.unlock();
        }
    }

    /** Waits until the turn is appointed (true), or answered by another one's call. */
    private boolean await(Turn<Q, A> turn) throws SQLTimeoutException {
        long deadline = System.nanoTime() + limits.patience().toNanos();
        boolean interrupted = false;
        try {
            while (true) {
                switch (turn.state) {
                    case APPOINTED -> {
                        return true;
                    }
                    case ANSWERED -> {
                        return false;
                    }
                    case TAKEN -> LockSupport.park(this);
                    case WAITING -> {
                        long left = deadline - System.nanoTime();
                        if (left <= 0 && gaveUp(turn)) {
                            throw new SQLTimeoutException(
                                    "the database was busy with others for " + limits.patience(), "57014");
                        }
                        LockSupport.parkNanos(this, left);
                    }
                }
                // The call can't be left half way, so an interruption waits, as it does in a driver.
                interrupted |= Thread.interrupted();
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private boolean gaveUp(Turn<Q, A> turn) {
        lock.lock();
        try {
            return queue.remove(turn);
        } finally {
            lock.unlock();
        }
    }

    private void callFor(Turn<Q, A> first) {
        List<Turn<Q, A>> turns = new ArrayList<>();
        turns.add(first);
        try {
            takeMore(turns);
            answer(turns);
        } finally {
            // The next call begins before this one's callers wake up: they have what they wanted.
            handOver();
            turns.forEach(Turn::wake);
        }
    }

    private void takeMore(List<Turn<Q, A>> turns) {
        long weighed = weight.applyAsLong(turns.get(0).question);
        lock.lock();
        try {
            for (Turn<Q, A> next = queue.peek(); next != null; next = queue.peek()) {
                weighed += weight.applyAsLong(next.question);
                if (turns.size() == limits.questions() || weighed > limits.weight()) {
                    return;
                }
                queue.remove();
                next.state = State.TAKEN;
                turns.add(next);
            }
        } finally {
            lock.unlock();
        }
    }

    private void handOver() {
        lock.lock();
        try {
            Turn<Q, A> next = queue.poll();
            if (next == null) {
                calls--;
            } else {
                next.state = State.APPOINTED;
                LockSupport.unpark(next.thread);
            }
        } finally {
            lock.unlock();
        }
    }

    private void answer(List<Turn<Q, A>> turns) {
        SQLException failure = tryToAnswer(turns);
        if (failure == null) {
            return;
        }
        boolean alone = turns.size() == 1;
        for (Turn<Q, A> turn : turns) {
            SQLException own = alone || Jdbc.hasNoConnection(failure) ? failure : tryToAnswer(List.of(turn));
            if (own != null) {
                turn.failure = own;
            }
        }
    }

    private @Nullable SQLException tryToAnswer(List<Turn<Q, A>> turns) {
        try {
            List<A> answers = call.ask(turns.stream().map(turn -> turn.question).toList());
            for (int i = 0; i < turns.size(); i++) {
                turns.get(i).answer(answers.get(i));
            }
            return null;
        } catch (SQLException e) {
            return e;
        } catch (RuntimeException | Error e) {
            return new SQLException("a shared call failed", e);
        }
    }

    private enum State {
        WAITING,
        APPOINTED,
        TAKEN,
        ANSWERED
    }

    /** One caller's question. Its fields are written by whoever makes the call, before the state is, and read after. */
    private static final class Turn<Q, A extends @Nullable Object> {

        private final Q question;
        private final Thread thread = Thread.currentThread();
        private volatile State state = State.WAITING;
        private @Nullable Answer<A> answer;
        private @Nullable SQLException failure;

        private Turn(Q question) {
            this.question = question;
        }

        private void answer(A value) {
            answer = new Answer<>(value);
        }

        private void wake() {
            state = State.ANSWERED;
            LockSupport.unpark(thread);
        }

        private A result() throws SQLException {
            if (answer != null) {
                return answer.value();
            }
            throw failure == null ? new SQLException("a shared call ended without an answer") : failure;
        }
    }

    private record Answer<A extends @Nullable Object>(A value) {}
}
