// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import javax.sql.DataSource;

/** The simulated gateway under a test's control: counts calls, and {@code tok_slow} is as slow as the test wants. */
final class SlowGateway implements Function<DataSource, PaymentGateway> {

    private static final int PATIENCE_SECONDS = 120;

    private final AtomicInteger calls = new AtomicInteger();
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private int slowCharges;
    private int answers;

    @Override
    public PaymentGateway apply(DataSource books) {
        PaymentGateway simulated = new SimulatedGateway(books, this::awaitAnswer);
        return (key, order) -> {
            calls.incrementAndGet();
            return simulated.charge(key, order);
        };
    }

    /** How often handlers called it, over all sources. */
    int calls() {
        return calls.get();
    }

    /** Waits until that many slow charges have been made whose handlers wait for the answer. */
    void awaitSlow(int number) throws InterruptedException {
        await(() -> slowCharges - answers >= number);
    }

    /** Lets that many slow charges be answered: those that wait, then those to come. */
    void answer(int number) {
        lock.lock();
        try {
            answers += number;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void awaitAnswer() throws InterruptedException {
        lock.lock();
        try {
            int turn = ++slowCharges;
            changed.signalAll();
            await(() -> answers >= turn);
        } finally {
            lock.unlock();
        }
    }

    private void await(BooleanSupplier condition) throws InterruptedException {
        long left = TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        lock.lock();
        try {
            while (!condition.getAsBoolean()) {
                if (left <= 0) {
                    throw new IllegalStateException("nothing happened for " + PATIENCE_SECONDS + " s");
                }
                left = changed.awaitNanos(left);
            }
        } finally {
            lock.unlock();
        }
    }
}
