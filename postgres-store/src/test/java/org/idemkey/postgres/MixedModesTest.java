// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.idemkey.postgres.Calls.answer;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore;
import org.idemkey.IdempotencyStore.Completion;
import org.idemkey.Lease;
import org.idemkey.Terms;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** All modes over one table at once: a key that is known to one of them is known to the others. */
class MixedModesTest {

    private static final Terms TERMS = new Terms(Duration.ofHours(1), Duration.ofHours(24));

    @RegisterExtension
    static final TestDatabase DATABASE = new TestDatabase();

    private static JoinedDataSource joined;
    private static PostgresTransactionStore transaction;
    private static PostgresJoinedLeaseStore joinedLease;
    private static PostgresLeaseStore lease;

    private final IdempotencyKey key = Calls.newKey();

    enum Mode {
        TRANSACTION,
        JOINED_LEASE,
        LEASE;

        IdempotencyStore store() {
            return switch (this) {
                case TRANSACTION -> transaction;
                case JOINED_LEASE -> joinedLease;
                case LEASE -> lease;
            };
        }

        Claim claim(IdempotencyKey key) {
            return claim(key, Calls.REQUEST);
        }

        Claim claim(IdempotencyKey key, Fingerprint request) {
            return store().claim(key, request, TERMS);
        }

        Lease acquire(IdempotencyKey key) {
            Claim claim = claim(key);
            assertThat(claim).isInstanceOf(Claim.Acquired.class);
            return ((Claim.Acquired) claim).lease();
        }
    }

    static Stream<Arguments> pairs() {
        return Stream.of(Mode.values()).flatMap(one -> Stream.of(Mode.values()).map(other -> Arguments.of(one, other)));
    }

    static Stream<Arguments> pairsThatBeginWithALease() {
        return pairs().filter(pair -> pair.get()[0] != Mode.TRANSACTION);
    }

    @BeforeAll
    static void open() {
        DATABASE.update("CREATE TABLE effect (name text)");
        joined = JoinedDataSource.of(DATABASE.pool(32));
        transaction = PostgresTransactionStore.create(joined);
        joinedLease = PostgresJoinedLeaseStore.create(joined);
        lease = PostgresLeaseStore.create(joined);
    }

    @AfterAll
    static void close() {
        joinedLease.close();
        lease.close();
    }

    /** By the application's one data source, whatever the mode. */
    private static void insert(IdempotencyKey key) throws SQLException {
        try (Connection connection = joined.getConnection();
                PreparedStatement statement = connection.prepareStatement("INSERT INTO effect VALUES (?)")) {
            statement.setString(1, key.value());
            statement.executeUpdate();
        }
    }

    private static void insertTied(Lease lease) throws SQLException {
        Lease.Binding binding = lease.bind();
        try {
            insert(lease.key());
        } finally {
            binding.close();
        }
    }

    private long effects() {
        return effects(key);
    }

    private static long effects(IdempotencyKey key) {
        return (long) DATABASE.query("SELECT count(*) FROM effect WHERE name = ?", key.value());
    }

    @ParameterizedTest
    @MethodSource("pairs")
    void whatOneHasCompletedTheOtherReplays(Mode one, Mode other) {
        assertThat(one.store().complete(one.acquire(key), answer(201))).isEqualTo(Completion.RECORDED);

        assertThat(other.claim(key)).isEqualTo(new Claim.Completed(answer(201)));
        assertThat(other.claim(key, Calls.OTHER_REQUEST)).isEqualTo(new Claim.Mismatched());
    }

    @ParameterizedTest
    @MethodSource("pairs")
    void whatOneHasReleasedTheOtherAcquires(Mode one, Mode other) {
        one.store().release(one.acquire(key));

        assertThat(other.store().release(other.acquire(key))).isTrue();
    }

    @ParameterizedTest
    @MethodSource("pairs")
    void whatHasExpiredInOneTheOtherAcquires(Mode one, Mode other) {
        one.store().complete(one.acquire(key), answer(201));
        DATABASE.elapse(TERMS.retention());

        Lease next = other.acquire(key);

        assertThat(next.attempt()).isEqualTo(1);
        assertThat(other.store().complete(next, answer(202))).isEqualTo(Completion.RECORDED);
        assertThat(one.claim(key)).isEqualTo(new Claim.Completed(answer(202)));
    }

    @ParameterizedTest
    @MethodSource("pairsThatBeginWithALease")
    void aLiveLeaseIsInProgressForTheOther(Mode one, Mode other) {
        Lease live = one.acquire(key);

        assertThat(other.claim(key)).isInstanceOf(Claim.InProgress.class);
        assertThat(other.claim(key, Calls.OTHER_REQUEST)).isEqualTo(new Claim.Mismatched());

        assertThat(one.store().complete(live, answer(201))).isEqualTo(Completion.RECORDED);
    }

    @ParameterizedTest
    @EnumSource(Mode.class)
    void aLapsedLeaseIsUnknownAndCanBeTakenOver(Mode other) throws SQLException {
        Lease stale = Mode.LEASE.acquire(key);
        DATABASE.elapse(TERMS.lease());
        assertThat(other.claim(key)).isInstanceOf(Claim.OutcomeUnknown.class);

        Claim taken = other.store().takeOver(stale, Calls.REQUEST, TERMS);

        assertThat(taken).isInstanceOf(Claim.Acquired.class);
        Lease next = ((Claim.Acquired) taken).lease();
        assertThat(next.attempt()).isEqualTo(2);
        insertTied(next);
        assertThat(other.store().complete(next, answer(202))).isEqualTo(Completion.RECORDED);
        assertThat(lease.complete(stale, answer(201))).isEqualTo(Completion.LOST);
        assertThat(Mode.LEASE.claim(key)).isEqualTo(new Claim.Completed(answer(202)));
        assertThat(effects()).isEqualTo(1);
    }

    // The old owner comes back while the taker's transaction is open: one of the two is kept, and the other is undone.
    @ParameterizedTest
    @EnumSource(
            value = Mode.class,
            names = {"LEASE", "JOINED_LEASE"})
    void anOwnerWhoReturnsBeforeItsTakerCommitsWins(Mode one) throws SQLException {
        Lease stale = one.acquire(key);
        DATABASE.elapse(TERMS.lease());
        Claim taken = one == Mode.LEASE
                ? transaction.takeOver(stale, Calls.REQUEST, TERMS)
                : transaction.claim(key, Calls.REQUEST, TERMS);
        Lease next = ((Claim.Acquired) taken).lease();
        assertThat(next.attempt()).isEqualTo(2);
        insertTied(next);

        assertThat(one.store().complete(stale, answer(201))).isEqualTo(Completion.RECORDED);

        assertThat(transaction.complete(next, answer(202))).isEqualTo(Completion.LOST);
        assertThat(effects()).isZero();
        assertThat(transaction.claim(key, Calls.REQUEST, TERMS)).isEqualTo(new Claim.Completed(answer(201)));
    }

    @ParameterizedTest
    @EnumSource(Mode.class)
    void aLapsedJoinedLeaseIsAcquiredByItself(Mode other) throws SQLException {
        Lease stale = Mode.JOINED_LEASE.acquire(key);
        insertTied(stale);
        DATABASE.elapse(TERMS.lease());

        Lease next = other.acquire(key);
        assertThat(next.attempt()).isEqualTo(2);
        insertTied(next);

        assertThat(other.store().complete(next, answer(202))).isEqualTo(Completion.RECORDED);
        assertThat(joinedLease.complete(stale, answer(201))).isEqualTo(Completion.LOST);
        assertThat(effects()).isEqualTo(1);
    }

    // A reconciled outcome, and an operator's or a policy's release.
    @ParameterizedTest
    @EnumSource(Mode.class)
    void anUnknownOutcomeCanBeCompletedOrReleasedByAnyMode(Mode other) {
        Lease stale = Mode.LEASE.acquire(key);
        DATABASE.elapse(TERMS.lease());
        Claim.OutcomeUnknown unknown = (Claim.OutcomeUnknown) other.claim(key);
        assertThat(unknown.stale().token()).isEqualTo(stale.token());

        assertThat(other.store().complete(unknown.stale(), answer(201))).isEqualTo(Completion.RECORDED);
        assertThat(other.store().release(unknown.stale())).isFalse();

        assertThat(Mode.LEASE.claim(key)).isEqualTo(new Claim.Completed(answer(201)));
        IdempotencyKey released = Calls.newKey();
        Lease second = Mode.LEASE.acquire(released);
        DATABASE.elapse(TERMS.lease());
        assertThat(other.store().release(second)).isTrue();
        assertThat(other.store().complete(second, answer(201))).isEqualTo(Completion.LOST);
    }

    // A claim in flight in a transaction can't be seen by the other modes, so both may run; one has an effect.
    @ParameterizedTest
    @EnumSource(
            value = Mode.class,
            names = {"LEASE", "JOINED_LEASE"})
    void aLeaseThatIsClaimedDuringATransactionUndoesThat(Mode other) throws SQLException {
        Lease running = Mode.TRANSACTION.acquire(key);
        insertTied(running);
        Lease second = other.acquire(key);
        insertTied(second);

        assertThat(transaction.complete(running, answer(201))).isEqualTo(Completion.LOST);
        assertThat(other.store().complete(second, answer(202))).isEqualTo(Completion.RECORDED);

        assertThat(effects()).isEqualTo(1);
        assertThat(transaction.claim(key, Calls.REQUEST, TERMS)).isEqualTo(new Claim.Completed(answer(202)));
    }

    @ParameterizedTest
    @MethodSource("pairs")
    void whereBothRaceThereIsOneEffect(Mode one, Mode other) throws Exception {
        ExecutorService executor = Executors.newFixedThreadPool(8);
        try {
            for (int round = 0; round < 20; round++) {
                IdempotencyKey raced = Calls.newKey();
                CyclicBarrier start = new CyclicBarrier(8);
                List<Future<?>> calls = new ArrayList<>();
                for (int i = 0; i < 8; i++) {
                    Calls mode = new Calls((i % 2 == 0 ? one : other).store());
                    calls.add(executor.submit(() -> {
                        start.await();
                        mode.serve(raced, context -> {
                            insert(raced);
                            return answer(201);
                        });
                        return null;
                    }));
                }
                for (Future<?> call : calls) {
                    call.get();
                }
                assertThat(effects(raced)).isEqualTo(1);
                assertThat(one.claim(raced)).isEqualTo(new Claim.Completed(answer(201)));
            }
        } finally {
            executor.shutdownNow();
        }
    }
}
