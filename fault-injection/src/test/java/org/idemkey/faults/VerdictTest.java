// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.idemkey.faults.Answers.created;
import static org.idemkey.faults.Answers.own;
import static org.idemkey.faults.Answers.problem;
import static org.idemkey.faults.Answers.replayOf;

import org.junit.jupiter.api.Test;

class VerdictTest {

    @Test
    void successAndRefusalAreFinal() {
        for (Mode mode : Mode.values()) {
            assertThat(Verdict.of(created("p", 1), mode)).isEqualTo(Verdict.KEPT);
            assertThat(Verdict.of(own(402), mode)).isEqualTo(Verdict.KEPT);
            assertThat(Verdict.of(own(409), mode)).isEqualTo(Verdict.KEPT);
        }
    }

    @Test
    void aFailureIsFinalWhereItIsKept() {
        for (int status : new int[] {500, 502, 504}) {
            assertThat(Verdict.of(own(status), Mode.LEASE)).isEqualTo(Verdict.KEPT);
            assertThat(Verdict.of(own(status), Mode.SAME_TRANSACTION)).isEqualTo(Verdict.AGAIN);
            assertThat(Verdict.of(own(status), Mode.JOINED_LEASE)).isEqualTo(Verdict.AGAIN);
            assertThat(Verdict.of(replayOf(own(status)), Mode.JOINED_LEASE)).isEqualTo(Verdict.KEPT);
        }
    }

    @Test
    void notExecutedIsNeverFinal() {
        for (Mode mode : Mode.values()) {
            for (int status : new int[] {401, 403, 408, 425, 429, 503}) {
                assertThat(Verdict.of(own(status), mode)).isEqualTo(Verdict.AGAIN);
            }
        }
    }

    @Test
    void problemsGoByTheirType() {
        assertThat(Verdict.of(problem(409, "in-progress"), Mode.LEASE)).isEqualTo(Verdict.AGAIN);
        assertThat(Verdict.of(problem(503, "store-unavailable"), Mode.LEASE)).isEqualTo(Verdict.AGAIN);
        assertThat(Verdict.of(problem(409, "outcome-unknown"), Mode.LEASE)).isEqualTo(Verdict.UNKNOWN);
        assertThat(Verdict.of(problem(422, "key-reused"), Mode.LEASE)).isEqualTo(Verdict.REUSED);
        assertThat(Verdict.of(problem(409, "response-not-replayable"), Mode.LEASE))
                .isEqualTo(Verdict.WRONG);
        assertThat(Verdict.of(problem(400, "key-invalid"), Mode.LEASE)).isEqualTo(Verdict.WRONG);
    }
}
