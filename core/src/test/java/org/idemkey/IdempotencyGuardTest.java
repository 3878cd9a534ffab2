// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIOException;

import java.io.IOException;
import java.time.Duration;
import org.idemkey.IdempotencyGuard.Action;
import org.idemkey.IdempotencyGuard.Codec;
import org.idemkey.IdempotencyGuard.Outcome;
import org.idemkey.IdempotencyGuard.Refusal;
import org.junit.jupiter.api.Test;

class IdempotencyGuardTest {

    private static final IdempotencyKey KEY = new IdempotencyKey(Scope.ANONYMOUS, "job-1");
    private static final Fingerprint PAY = Fingerprint.of("pay 10");

    private final TickingClock clock = new TickingClock();
    private final CountingStore store = new CountingStore(new InMemoryIdempotencyStore(clock));
    private int runs;

    @Test
    void anActionRunsOnceAndARepetitionGetsItsResult() throws Exception {
        assertThat(run(PAY, context -> "paid")).isEqualTo(new Outcome.Executed<>("paid"));
        assertThat(run(PAY, context -> "paid again")).isEqualTo(new Outcome.Repeated<>("paid"));
        assertThat(runs).isEqualTo(1);
    }

    @Test
    void anotherActionUnderTheKeyIsRefused() throws Exception {
        run(PAY, context -> "paid");
        assertRefused(run(Fingerprint.of("pay 20"), context -> "paid"), Refusal.MISMATCHED);
        assertThat(runs).isEqualTo(1);
    }

    @Test
    void anActionWithinItselfIsInProgress() throws Exception {
        run(PAY, context -> {
            assertRefused(run(PAY, inner -> "inner"), Refusal.IN_PROGRESS);
            return "outer";
        });
        assertThat(runs).isEqualTo(1);
    }

    /** Case 2. */
    @Test
    void anActionThatThrewIsNotRunAgain() throws Exception {
        assertThatIOException()
                .isThrownBy(() -> run(PAY, context -> {
                    throw new IOException("after the charge");
                }))
                .withMessage("after the charge");
        assertRefused(run(PAY, context -> "paid"), Refusal.FAILED_BEFORE);
        assertThat(runs).isEqualTo(1);
    }

    @Test
    void anActionThatThrewRunsAgainWhereTheStoreUndidIt() throws Exception {
        store.transactional = true;
        assertThatIOException()
                .isThrownBy(() -> run(PAY, context -> {
                    throw new IOException();
                }));
        assertThat(run(PAY, context -> "paid")).isEqualTo(new Outcome.Executed<>("paid"));
    }

    @Test
    void anActionWhoseOwnerVanishedIsNotRunAgain() throws Exception {
        store.claim(KEY, PAY, Terms.defaults());
        clock.tick(Duration.ofMinutes(1));
        assertRefused(run(PAY, context -> "paid"), Refusal.OUTCOME_UNKNOWN);
        assertThat(runs).isZero();
    }

    @Test
    void aLostClaimGivesNoResult() throws Exception {
        Outcome<String> outcome = run(PAY, context -> {
            store.release(context.lease());
            return "paid";
        });
        assertRefused(outcome, Refusal.CLAIM_LOST);
    }

    @Test
    void aCommitThatCannotBeJudgedIsNoResult() throws Exception {
        store.transactional = true;
        assertThatExceptionOfType(IdempotencyStoreException.class)
                .isThrownBy(() -> run(PAY, context -> {
                    store.away = true;
                    return "paid";
                }));
    }

    @Test
    void nothingRunsWhileTheStoreIsAway() {
        store.away = true;
        assertThatExceptionOfType(IdempotencyStoreException.class).isThrownBy(() -> run(PAY, context -> "paid"));
        assertThat(runs).isZero();
    }

    private Outcome<String> run(Fingerprint fingerprint, Action<String> action) throws Exception {
        return new IdempotencyGuard<>(Idempotency.of(store), Codec.text()).run(KEY, fingerprint, context -> {
            runs++;
            return action.run(context);
        });
    }

    private static void assertRefused(Outcome<String> outcome, Refusal reason) {
        assertThat(outcome).isEqualTo(new Outcome.Refused<>(reason));
    }
}
