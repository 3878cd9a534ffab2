// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.idemkey.Claim;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore.Completion;
import org.idemkey.Lease;
import org.idemkey.Terms;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** However many handlers run at once under leases, however slow: the application keeps its connections. */
class SlowHandlersTest {

    @RegisterExtension
    static final TestDatabase database = new TestDatabase();

    private static final int HANDLERS = 64;
    private static final int MOST = 4;
    private static final String NAME = "slow-handlers";
    /** Renewed by the test, not by time. */
    private static final Terms TERMS = new Terms(Duration.ofHours(1), Duration.ofHours(24));

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final List<Thread> callers = Collections.synchronizedList(new ArrayList<>());
    private final AtomicInteger held = new AtomicInteger();
    private volatile CountDownLatch gate = new CountDownLatch(1);

    @AfterEach
    void stop() {
        gate.countDown();
        threads.shutdownNow();
    }

    /** Connections of their own, each of which waits at the gate before it can be used. */
    private DataSource gated() {
        return (DataSource) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {DataSource.class}, (proxy, method, arguments) -> {
                    assertThat(method.getName()).isEqualTo("getConnection");
                    Connection connection = connect();
                    held.incrementAndGet();
                    gate.await();
                    return counted(connection);
                });
    }

    private static Connection connect() throws SQLException {
        Properties properties = new Properties();
        properties.putAll(Map.of("user", database.user(), "password", database.password(), "ApplicationName", NAME));
        return DriverManager.getConnection(database.url(), properties);
    }

    private Connection counted(Connection connection) {
        return (Connection) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("close")) {
                        connection.close();
                        held.decrementAndGet();
                        return null;
                    }
                    try {
                        return method.invoke(connection, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    private static long connections() {
        return (long) database.query("SELECT count(*) FROM pg_stat_activity WHERE application_name = ?", NAME);
    }

    /** Begins all of these, and returns once each is at the gate with a connection, or waits for one that is. */
    private <T> List<Future<T>> begin(List<Callable<T>> calls) {
        gate = new CountDownLatch(1);
        callers.clear();
        List<Future<T>> answers = new ArrayList<>();
        for (Callable<T> call : calls) {
            answers.add(threads.submit(() -> {
                callers.add(Thread.currentThread());
                return call.call();
            }));
        }
        await().until(() -> callers.size() == calls.size() && callers.stream().allMatch(SlowHandlersTest::waits));
        return answers;
    }

    private static boolean waits(Thread thread) {
        return thread.getState() == Thread.State.WAITING || thread.getState() == Thread.State.TIMED_WAITING;
    }

    private <T> List<T> all(List<Future<T>> answers) throws Exception {
        gate.countDown();
        List<T> values = new ArrayList<>();
        for (Future<T> answer : answers) {
            values.add(answer.get());
        }
        return values;
    }

    private static Callable<Object> claim(PostgresLeaseStore store, IdempotencyKey key) {
        return () -> store.claim(key, Calls.REQUEST, TERMS);
    }

    @Test
    void sixtyFourAtOnceHoldFourConnectionsAtMost() throws Exception {
        // Waiting for a turn has to outlast the gate, on any machine.
        try (PostgresLeaseStore store = PostgresLeaseStore.builder(gated())
                .timeout(Duration.ofMinutes(5))
                .build()) {
            List<Callable<Object>> claims = new ArrayList<>();
            for (int i = 0; i < HANDLERS; i++) {
                claims.add(claim(store, Calls.newKey()));
            }
            List<Future<Object>> claiming = begin(claims);
            assertThat(held).hasValueBetween(1, MOST);
            assertThat(connections()).isBetween(1L, (long) MOST);
            List<Lease> leases = all(claiming).stream()
                    .map(claim -> ((Claim.Acquired) claim).lease())
                    .toList();

            // All handlers run now, and may for as long as they like.
            assertThat(held).hasValue(0);
            await().until(() -> connections() == 0);

            // Everything that a store ever does, all at once: half of them end, more come, and leases are renewed.
            List<Callable<Object>> everything = new ArrayList<>();
            for (int i = 0; i < HANDLERS; i++) {
                Lease lease = leases.get(i);
                everything.add(
                        i % 2 == 0 ? () -> store.complete(lease, Calls.answer(201)) : () -> store.release(lease));
                everything.add(claim(store, Calls.newKey()));
            }
            everything.add(() -> {
                store.keeper().renewals().renew();
                return "renewed";
            });
            List<Future<Object>> ending = begin(everything);
            assertThat(held).hasValueBetween(1, MOST);
            assertThat(connections()).isBetween(1L, (long) MOST);
            List<Object> ends = all(ending);

            assertThat(ends).filteredOn(Completion.RECORDED::equals).hasSize(HANDLERS / 2);
            assertThat(ends).filteredOn(Boolean.TRUE::equals).hasSize(HANDLERS / 2);
            assertThat(ends).filteredOn(Claim.Acquired.class::isInstance).hasSize(HANDLERS);
        }
    }
}
