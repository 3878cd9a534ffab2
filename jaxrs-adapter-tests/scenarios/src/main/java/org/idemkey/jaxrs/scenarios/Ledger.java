// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.scenarios;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** What the resources have done, by the key of the request; and what they wait for. */
final class Ledger {

    final ExecutorService elsewhere = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "elsewhere");
        thread.setDaemon(true);
        return thread;
    });

    private final Map<String, AtomicInteger> executions = new ConcurrentHashMap<>();
    private final Map<String, CountDownLatch> gates = new ConcurrentHashMap<>();
    private final Map<String, String> notes = new ConcurrentHashMap<>();

    /** Notes an execution, and says which one it is. */
    int execute(@Nullable String key) {
        return executions
                .computeIfAbsent(key == null ? "" : key, k -> new AtomicInteger())
                .incrementAndGet();
    }

    int executions(String key) {
        AtomicInteger count = executions.get(key);
        return count == null ? 0 : count.get();
    }

    void note(String key, String what) {
        notes.put(key, what);
    }

    @Nullable
    String noted(String key) {
        return notes.get(key);
    }

    void open(String gate) {
        gate(gate).countDown();
    }

    void await(String gate) {
        try {
            if (!gate(gate).await(1, TimeUnit.MINUTES)) {
                throw new IllegalStateException("nobody opened " + gate);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    private CountDownLatch gate(String name) {
        return gates.computeIfAbsent(name, k -> new CountDownLatch(1));
    }
}
