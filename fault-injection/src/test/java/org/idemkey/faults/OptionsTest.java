// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.time.Duration;
import java.util.List;
import org.idemkey.faults.Options.UsageException;
import org.junit.jupiter.api.Test;

class OptionsTest {

    @Test
    void everyArgumentHasADefault() throws UsageException {
        assertThat(Options.parse(List.of(), 7))
                .isEqualTo(new Options(Duration.ofSeconds(60), 7, Mode.SAME_TRANSACTION));
    }

    @Test
    void argumentsComeInAnyOrder() throws UsageException {
        assertThat(Options.parse(List.of("--mode", "joined-lease", "--seed", "-3", "--seconds", "181"), 7))
                .isEqualTo(new Options(Duration.ofSeconds(181), -3, Mode.JOINED_LEASE));
    }

    @Test
    void aWrongArgumentIsToldInOneLine() {
        for (List<String> wrong : List.of(
                List.of("--second", "1"),
                List.of("180"),
                List.of("--seconds"),
                List.of("--seconds", "0"),
                List.of("--seconds", "86401"),
                List.of("--seconds", "ten"),
                List.of("--seed", "1.5"),
                List.of("--mode", "Lease"),
                List.of("--seed", "1", "--seed", "1"))) {
            assertThatExceptionOfType(UsageException.class)
                    .as("%s", wrong)
                    .isThrownBy(() -> Options.parse(wrong, 7))
                    .satisfies(e ->
                            assertThat(e.getMessage()).contains(wrong.get(0)).doesNotContain("\n"));
        }
    }

    @Test
    void everyModeIsKnownByTheNameThatTheSampleKnows() {
        assertThat(Mode.names()).isEqualTo("same-transaction|joined-lease|lease|unprotected");
        for (Mode mode : Mode.values()) {
            assertThat(Mode.named(mode.toString())).contains(mode);
        }
    }
}
