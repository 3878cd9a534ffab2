// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import javax.sql.DataSource;

/** The simulated gateway under a test's control: counts calls, and {@code tok_slow} is as slow as the test wants. */
final class SlowGateway implements Function<DataSource, PaymentGateway> {

    private static final int PATIENCE_SECONDS = 120;

    private final AtomicInteger calls = new AtomicInteger();
    private final Semaphore waiting = new Semaphore(0);
    private final Semaphore answers = new Semaphore(0);

    @Override
    public PaymentGateway apply(DataSource books) {
        PaymentGateway simulated = new SimulatedGateway(books, () -> {
            waiting.release();
            acquire(answers, 1);
        });
        return (key, order) -> {
            calls.incrementAndGet();
            return simulated.charge(key, order);
        };
    }

    /** How often handlers called it, over all sources. */
    int calls() {
        return calls.get();
    }

    /** Waits until that many more slow charges have been made, and their handlers wait for the answer. */
    void awaitSlow(int number) throws InterruptedException {
        acquire(waiting, number);
    }

    /** Lets that many slow charges be answered. */
    void answer(int number) {
        answers.release(number);
    }

    private static void acquire(Semaphore semaphore, int number) throws InterruptedException {
        if (!semaphore.tryAcquire(number, PATIENCE_SECONDS, TimeUnit.SECONDS)) {
            throw new IllegalStateException("nothing happened for " + PATIENCE_SECONDS + " s");
        }
    }
}
