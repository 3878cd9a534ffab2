// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.idemkey.Bytes;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore.Completion;
import org.idemkey.IdempotencyStoreException;
import org.idemkey.Lease;
import org.idemkey.Scope;
import org.idemkey.StoredResponse;
import org.idemkey.StoredResponse.Header;
import org.idemkey.Terms;
import org.idemkey.postgres.KeyBatches.Ending;
import org.idemkey.postgres.KeyTable.Request;
import org.idemkey.postgres.KeyTable.Seen;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What becomes of requests that share a statement: what each would have met by itself. */
class SharedStatementsTest {

    @RegisterExtension
    static final TestDatabase database = new TestDatabase();

    private static final Terms TERMS = new Terms(Duration.ofMinutes(1), Duration.ofHours(1));
    private static final Fingerprint REQUEST = Fingerprint.of("a request");
    private static final Fingerprint OTHER_REQUEST = Fingerprint.of("another request");

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final List<Thread> waiting = Collections.synchronizedList(new ArrayList<>());
    private final AtomicBoolean hold = new AtomicBoolean();
    private final CountDownLatch held = new CountDownLatch(1);
    private final CountDownLatch mayGoOn = new CountDownLatch(1);
    private ProbedDataSource dataSource;
    private PostgresLeaseStore store;

    @BeforeEach
    void open() {
        dataSource = new ProbedDataSource(database.pool(), new ProbedDataSource.Probe() {
            @Override
            public void before(Connection connection, String sql) {
                if (hold.compareAndSet(true, false)) {
                    held.countDown();
                    awaitUninterrupted(mayGoOn);
                }
            }
        });
        store = PostgresLeaseStore.create(dataSource);
    }

    @AfterEach
    void close() {
        mayGoOn.countDown();
        threads.shutdownNow();
        store.close();
    }

    private static void awaitUninterrupted(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static IdempotencyKey newKey() {
        return new IdempotencyKey(Scope.ANONYMOUS, UUID.randomUUID().toString());
    }

    private static StoredResponse answer(int status, String body) {
        return StoredResponse.of(status, List.of(new Header("X-Body", body)), Bytes.utf8(body));
    }

    /**
     * Holds the first of these calls before its statement leaves, until all others wait for it, so that those share the
     * next statement.
     */
    private <T> List<Future<T>> sharing(List<Callable<T>> calls) {
        List<Future<T>> answers = new ArrayList<>();
        hold.set(true);
        answers.add(threads.submit(calls.get(0)));
        awaitUninterrupted(held);
        dataSource.statements().clear();
        for (Callable<T> call : calls.subList(1, calls.size())) {
            answers.add(threads.submit(() -> {
                waiting.add(Thread.currentThread());
                return call.call();
            }));
        }
        await().until(() -> waiting.size() == calls.size() - 1
                && waiting.stream().allMatch(thread -> thread.getState() == Thread.State.TIMED_WAITING));
        mayGoOn.countDown();
        return answers;
    }

    private Callable<Claim> claim(IdempotencyKey key, Fingerprint request) {
        return () -> store.claim(key, request, TERMS);
    }

    private Lease acquire(IdempotencyKey key) {
        return ((Claim.Acquired) store.claim(key, REQUEST, TERMS)).lease();
    }

    private static <T> List<T> all(List<Future<T>> futures) throws InterruptedException, ExecutionException {
        List<T> values = new ArrayList<>();
        for (Future<T> future : futures) {
            values.add(future.get());
        }
        return values;
    }

    @Test
    void claimsShareOneStatementAndEachGetsItsOwnAnswer() throws Exception {
        IdempotencyKey completed = newKey();
        store.complete(acquire(completed), answer(201, "stored"));
        IdempotencyKey inFlight = newKey();
        acquire(inFlight);
        List<Callable<Claim>> calls = new ArrayList<>();
        calls.add(claim(newKey(), REQUEST));
        calls.add(claim(completed, REQUEST));
        calls.add(claim(completed, OTHER_REQUEST));
        calls.add(claim(inFlight, REQUEST));
        for (int i = 0; i < 20; i++) {
            calls.add(claim(newKey(), REQUEST));
        }

        List<Claim> claims = all(sharing(calls));

        assertThat(claims.get(1)).isEqualTo(new Claim.Completed(answer(201, "stored")));
        assertThat(claims.get(2)).isEqualTo(new Claim.Mismatched());
        assertThat(claims.get(3)).isInstanceOf(Claim.InProgress.class);
        assertThat(claims.subList(4, 24)).hasOnlyElementsOfType(Claim.Acquired.class);
        assertThat(dataSource.statements()).hasSize(2);
    }

    @Test
    void ofOneKeyInOneStatementOneIsAcquired() throws Exception {
        IdempotencyKey key = newKey();
        List<Callable<Claim>> calls = new ArrayList<>();
        calls.add(claim(newKey(), REQUEST));
        for (int i = 0; i < 10; i++) {
            calls.add(claim(key, i % 2 == 0 ? REQUEST : OTHER_REQUEST));
        }

        List<Claim> claims = all(sharing(calls)).subList(1, 11);

        assertThat(claims).filteredOn(Claim.Acquired.class::isInstance).hasSize(1);
        assertThat(claims).filteredOn(Claim.InProgress.class::isInstance).hasSize(4);
        assertThat(claims).filteredOn(new Claim.Mismatched()::equals).hasSize(5);
        assertThat(dataSource.statements()).hasSize(2);
    }

    @Test
    void completionsShareOneStatementAndOnlyTheOwnersAreRecorded() throws Exception {
        List<Callable<Completion>> calls = new ArrayList<>();
        List<IdempotencyKey> keys = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            IdempotencyKey key = newKey();
            keys.add(key);
            Lease lease = acquire(key);
            StoredResponse response = answer(201, "body " + i);
            calls.add(() -> store.complete(lease, response));
        }
        IdempotencyKey lost = newKey();
        Lease stale = acquire(lost);
        store.release(stale);
        acquire(lost);
        calls.add(() -> store.complete(stale, answer(201, "too late")));
        IdempotencyKey tooLong = newKey();
        Lease tombstone = acquire(tooLong);
        calls.add(() -> store.complete(tombstone, StoredResponse.tombstone(200)));

        List<Completion> completions = all(sharing(calls));

        assertThat(completions.subList(0, 10)).containsOnly(Completion.RECORDED);
        assertThat(completions.subList(10, 12)).containsExactly(Completion.LOST, Completion.RECORDED);
        assertThat(dataSource.statements()).hasSize(2);
        for (int i = 0; i < 10; i++) {
            assertThat(store.claim(keys.get(i), REQUEST, TERMS))
                    .isEqualTo(new Claim.Completed(answer(201, "body " + i)));
        }
        assertThat(store.claim(lost, REQUEST, TERMS)).isInstanceOf(Claim.InProgress.class);
        assertThat(store.claim(tooLong, REQUEST, TERMS)).isEqualTo(new Claim.Completed(StoredResponse.tombstone(200)));
    }

    @Test
    void releasesShareOneStatementAndOnlyTheOwnersAct() throws Exception {
        List<Callable<Boolean>> calls = new ArrayList<>();
        List<IdempotencyKey> keys = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            IdempotencyKey key = newKey();
            keys.add(key);
            Lease lease = acquire(key);
            calls.add(() -> store.release(lease));
        }
        IdempotencyKey completed = newKey();
        Lease done = acquire(completed);
        store.complete(done, answer(201, "kept"));
        calls.add(() -> store.release(done));

        assertThat(all(sharing(calls))).containsExactly(true, true, true, true, true, false);

        assertThat(dataSource.statements()).hasSize(2);
        keys.forEach(key -> assertThat(store.claim(key, OTHER_REQUEST, TERMS)).isInstanceOf(Claim.Acquired.class));
        assertThat(store.claim(completed, REQUEST, TERMS)).isEqualTo(new Claim.Completed(answer(201, "kept")));
    }

    @Test
    void aClaimThatTheDatabaseRefusesFailsAlone() throws Exception {
        IdempotencyKey refused = new IdempotencyKey(Scope.ANONYMOUS, "refused");
        database.update("ALTER TABLE idempotency_key ADD CONSTRAINT refusal CHECK (key <> 'refused')");
        try {
            List<Future<Claim>> claims = sharing(List.of(
                    claim(newKey(), REQUEST),
                    claim(newKey(), REQUEST),
                    claim(refused, REQUEST),
                    claim(newKey(), REQUEST)));

            assertThatThrownBy(claims.remove(2)::get).hasCauseInstanceOf(IdempotencyStoreException.class);
            assertThat(all(claims)).hasOnlyElementsOfType(Claim.Acquired.class);
        } finally {
            database.update("ALTER TABLE idempotency_key DROP CONSTRAINT refusal");
        }
    }

    @Test
    void aResponseThatTheDatabaseRefusesFailsAlone() throws Exception {
        database.update("ALTER TABLE idempotency_key ADD CONSTRAINT refusal CHECK (response_code <> 418)");
        try {
            List<Callable<Completion>> calls = new ArrayList<>();
            for (int status : new int[] {200, 201, 418, 202}) {
                Lease lease = acquire(newKey());
                calls.add(() -> store.complete(lease, answer(status, "body")));
            }

            assertThat(all(sharing(calls)))
                    .containsExactly(
                            Completion.RECORDED, Completion.RECORDED, Completion.DEFERRED, Completion.RECORDED);
        } finally {
            database.update("ALTER TABLE idempotency_key DROP CONSTRAINT refusal");
        }
    }

    // Line 36, for requests that meet in one statement.
    @Test
    void ofAnExpiredKeyInOneStatementOneIsAcquired() throws Exception {
        IdempotencyKey key = newKey();
        store.complete(acquire(key), answer(201, "old"));
        database.elapse(TERMS.retention());
        List<Callable<Claim>> calls = new ArrayList<>();
        calls.add(claim(newKey(), REQUEST));
        for (int i = 0; i < 10; i++) {
            calls.add(claim(key, REQUEST));
        }

        List<Claim> claims = all(sharing(calls)).subList(1, 11);

        assertThat(claims).filteredOn(Claim.Acquired.class::isInstance).hasSize(1);
        assertThat(claims).filteredOn(Claim.InProgress.class::isInstance).hasSize(9);
    }

    @Test
    void statementsOfTwoInstancesOverTheSameKeysNeverDeadlock() throws Exception {
        KeyBatches batches = new KeyBatches(TableName.DEFAULT, Duration.ofMinutes(1));
        for (int round = 0; round < 20; round++) {
            List<IdempotencyKey> keys = new ArrayList<>();
            for (int i = 0; i < 200; i++) {
                keys.add(newKey());
            }
            List<IdempotencyKey> opposite = new ArrayList<>(keys);
            Collections.reverse(opposite);

            List<List<Request>> claimed = bothAtOnce(
                    (connection, mine) -> {
                        List<Request> requests = mine.stream()
                                .map(key -> new Request(key, REQUEST, TERMS, UUID.randomUUID(), false))
                                .toList();
                        List<Optional<Seen>> seen = batches.claim(connection, requests);
                        List<Request> ours = new ArrayList<>();
                        for (int i = 0; i < requests.size(); i++) {
                            UUID token = requests.get(i).token();
                            if (seen.get(i)
                                    .filter(row -> row.token().equals(token))
                                    .isPresent()) {
                                ours.add(requests.get(i));
                            }
                        }
                        return ours;
                    },
                    keys,
                    opposite);
            List<Ending> endings = new ArrayList<>();
            claimed.forEach(ours -> ours.forEach(
                    request -> endings.add(new Ending(request.key(), request.token(), answer(201, "body")))));
            assertThat(endings).hasSize(keys.size());

            // Both end all of them, as nobody but a superseded owner would.
            List<Ending> reversed = new ArrayList<>(endings);
            Collections.reverse(reversed);
            List<List<Boolean>> recorded = bothAtOnce(batches::complete, endings, reversed);

            Collections.reverse(recorded.get(1));
            for (int i = 0; i < endings.size(); i++) {
                assertThat(recorded.get(0).get(i)).isNotEqualTo(recorded.get(1).get(i));
            }
        }
    }

    private interface Statement<Q, A> {
        A on(Connection connection, List<Q> questions) throws SQLException;
    }

    private <Q, A> List<A> bothAtOnce(Statement<Q, A> statement, List<Q> one, List<Q> other) throws Exception {
        CyclicBarrier start = new CyclicBarrier(2);
        List<Future<A>> answers = new ArrayList<>();
        for (List<Q> questions : List.of(one, other)) {
            answers.add(threads.submit(() -> {
                try (Connection connection = database.pool().getConnection()) {
                    start.await();
                    return statement.on(connection, questions);
                }
            }));
        }
        return all(answers);
    }

    @Test
    void manyRequestsAtOnceHoldFourConnectionsAtMost() throws Exception {
        int handlers = 64;
        CyclicBarrier start = new CyclicBarrier(handlers);
        CountDownLatch inHandler = new CountDownLatch(handlers);
        CountDownLatch mayEnd = new CountDownLatch(1);
        PostgresLeaseStore shortLeases = PostgresLeaseStore.create(dataSource);
        // A tenth of a second, so that renewals are among the statements that are counted.
        Terms terms = new Terms(Duration.ofMillis(100), Duration.ofHours(1));
        List<Future<Completion>> requests = new ArrayList<>();
        for (int i = 0; i < handlers; i++) {
            boolean releases = i % 4 == 0;
            requests.add(threads.submit(() -> {
                start.await();
                Lease lease = ((Claim.Acquired) shortLeases.claim(newKey(), REQUEST, terms)).lease();
                inHandler.countDown();
                mayEnd.await();
                start.await();
                return releases
                        ? shortLeases.release(lease) ? Completion.RECORDED : Completion.LOST
                        : shortLeases.complete(lease, answer(201, "done"));
            }));
        }
        inHandler.await();
        int claims = dataSource.statements().size();
        await().until(() -> dataSource.statements().size() > claims);
        mayEnd.countDown();

        assertThat(all(requests)).containsOnly(Completion.RECORDED);
        shortLeases.close();
        assertThat(dataSource.mostConnections()).isLessThanOrEqualTo(4);
    }
}
