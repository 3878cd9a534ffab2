// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.util.concurrent.TimeUnit.MINUTES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Line 57: handlers on virtual threads. Far more of them wait than the machine has carriers, so none may be pinned. */
class VirtualThreadsTest extends ServletTest {

    private static final int REQUESTS = 200;

    private ExecutorService virtual;

    @BeforeEach
    void needsJava21() throws Exception {
        assumeTrue(Runtime.version().feature() >= 21, "virtual threads need Java 21 or newer");
        virtual = (ExecutorService)
                Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    }

    /** All of them hold a claim, and wait for one another: with pinned carriers the last would never come. */
    @Test
    void waitingHandlersHoldNoCarrier() throws Exception {
        CountDownLatch all = new CountDownLatch(REQUESTS);
        serve(new WebApp().executor(virtual).filter("/*", filter()), (request, response) -> {
            assertThat(Thread.class.getMethod("isVirtual").invoke(Thread.currentThread()))
                    .isEqualTo(true);
            all.countDown();
            response.getWriter().print(all.await(2, MINUTES));
        });
        List<Future<RawResponse>> responses = new ArrayList<>();
        ExecutorService clients = Executors.newFixedThreadPool(REQUESTS);
        for (int i = 0; i < REQUESTS; i++) {
            responses.add(clients.submit(() -> post(newKey())));
        }
        for (Future<RawResponse> response : responses) {
            assertThat(response.get(3, MINUTES).text()).isEqualTo("true");
        }
        clients.shutdown();
        virtual.shutdown();
    }
}
