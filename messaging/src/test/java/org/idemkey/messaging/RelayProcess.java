// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.idemkey.testkafka.ChildProcess;
import org.postgresql.ds.PGSimpleDataSource;

/** A relay in a process of its own, to be killed, or to kill itself at the worst moment. */
final class RelayProcess {

    /** How it ends when it kills itself. */
    static final int HALTED = 17;

    /** What it prints when it works. */
    static final String READY = "ready";

    private RelayProcess() {}

    /**
     * Runs until it is killed.
     *
     * @param arguments Kafka's address, and after how many acknowledgements to die before the next mark
     */
    public static void main(String[] arguments) throws InterruptedException {
        ChildProcess.dieWithParent();
        PGSimpleDataSource dataSource = new PGSimpleDataSource();
        dataSource.setUrl(System.getenv("TEST_DATABASE_URL"));
        dataSource.setUser(System.getenv("TEST_DATABASE_USER"));
        dataSource.setPassword(System.getenv("TEST_DATABASE_PASSWORD"));
        KafkaMessagePublisher kafka = KafkaMessagePublisher.connect(arguments[0]);
        AtomicInteger lives = new AtomicInteger(Integer.parseInt(arguments[1]));
        MessagePublisher mortal = event -> kafka.publish(event).whenComplete((result, e) -> {
            // Acknowledged; the mark comes when the whole batch is.
            if (e == null && lives.decrementAndGet() == 0) {
                Runtime.getRuntime().halt(HALTED);
            }
        });
        OutboxRelay relay = OutboxRelay.builder(dataSource, mortal)
                .batchSize(200)
                .pollInterval(Duration.ofMillis(20))
                .start();
        relay.wake();
        System.out.println(READY);
        new CountDownLatch(1).await();
    }
}
