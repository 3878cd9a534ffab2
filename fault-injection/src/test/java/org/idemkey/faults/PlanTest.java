// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import static java.util.stream.Collectors.toSet;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.idemkey.faults.Fault.Kind;
import org.junit.jupiter.api.Test;

/** Faults and requests are the seed's, and nobody else's. */
class PlanTest {

    private static final Duration LENGTH = Duration.ofMinutes(3);

    @Test
    void oneSeedMakesOneSchedule() {
        assertThat(FaultSchedule.of(42, LENGTH)).isEqualTo(FaultSchedule.of(42, LENGTH));
        assertThat(FaultSchedule.of(43, LENGTH)).isNotEqualTo(FaultSchedule.of(42, LENGTH));
    }

    /** A change of the generator makes every seed that somebody has noted mean something else: then say so. */
    @Test
    void aSeedThatWasNotedMeansTheSameTomorrow() {
        assertThat(FaultSchedule.of(42, LENGTH)).hasSize(371);
        assertThat(FaultSchedule.of(42, LENGTH).get(0))
                .isEqualTo(new Fault(Duration.ofMillis(618), Kind.ANSWER_LOST, 0, Duration.ZERO, 1_376_986_781));
        assertThat(new WorkPlan(42, 0).next())
                .isEqualTo(new Intent("f16-0-1", "sk_demo_alice", 525_448, "tok_visa", Intent.Twist.TWIN));
    }

    @Test
    void aShorterScheduleIsTheBeginningOfALongerOne() {
        List<Fault> longer = FaultSchedule.of(42, LENGTH);
        List<Fault> shorter = FaultSchedule.of(42, Duration.ofSeconds(20));
        assertThat(longer.subList(0, shorter.size())).isEqualTo(shorter);
        assertThat(shorter).allSatisfy(fault -> assertThat(fault.at()).isLessThan(Duration.ofSeconds(20)));
    }

    @Test
    void threeMinutesHoldEveryKindForBothInstances() {
        for (long seed = 0; seed < 20; seed++) {
            List<Fault> faults = FaultSchedule.of(seed, LENGTH);
            assertThat(faults).hasSizeGreaterThan(220);
            assertThat(faults.stream().map(Fault::kind).collect(toSet())).hasSize(Kind.values().length);
            assertThat(faults.stream().map(Fault::instance).collect(toSet())).containsExactlyInAnyOrder(0, 1);
            assertThat(faults)
                    .allSatisfy(
                            fault -> assertThat(fault.length()).isBetween(fault.kind().shortest, fault.kind().longest));
        }
    }

    @Test
    void aPausedInstanceIsAwayForLongerThanItsLease() {
        assertThat(Kind.PAUSE.shortest).isGreaterThan(Campaign.LEASE);
    }

    @Test
    void aScheduleOfSomeKindsHoldsNoOther() {
        Set<Kind> kinds = EnumSet.of(Kind.CUT, Kind.KILL);
        assertThat(FaultSchedule.of(42, LENGTH, kinds).stream().map(Fault::kind).collect(toSet()))
                .isEqualTo(kinds);
    }

    @Test
    void oneSeedMakesOnePlanForEachClient() {
        assertThat(plan(42, 3)).isEqualTo(plan(42, 3));
        assertThat(plan(42, 3)).isNotEqualTo(plan(43, 3)).isNotEqualTo(plan(42, 4));
    }

    private static List<Intent> plan(long seed, int client) {
        WorkPlan plan = new WorkPlan(seed, client);
        return Stream.generate(plan::next).limit(1000).toList();
    }

    @Test
    void noTwoRequestsShareAKey() {
        Set<String> keys = new HashSet<>();
        for (int client = 0; client < 16; client++) {
            for (Intent intent : plan(Long.MIN_VALUE, client)) {
                assertThat(keys.add(intent.key())).isTrue();
                assertThat(intent.reusedReference()).hasSizeLessThanOrEqualTo(64);
            }
        }
    }

    @Test
    void aPlanHoldsEverySourceAndEveryTwist() {
        List<Intent> plan = plan(42, 0);
        assertThat(plan.stream().map(Intent::source).collect(toSet()))
                .containsExactlyInAnyOrder("tok_visa", "tok_declined", "tok_gateway_error", "tok_slow");
        assertThat(plan.stream().map(Intent::twist).collect(toSet())).containsExactlyInAnyOrder(Intent.Twist.values());
    }
}
