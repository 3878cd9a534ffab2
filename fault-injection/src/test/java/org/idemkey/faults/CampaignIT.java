// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import org.idemkey.faults.Finding.Breach;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Short campaigns, so that the long ones can't rot. */
class CampaignIT {

    private final Children children = new Children();

    @TempDir
    Path directory;

    @AfterEach
    void close() {
        children.close();
    }

    private Report run(int seconds, Mode mode) throws Exception {
        Options options = new Options(Duration.ofSeconds(seconds), 1, mode);
        Path jar = Path.of(System.getProperty("faults.jar"));
        assertThat(jar).as("built before, by the phase package").exists();
        Path home = Path.of(System.getProperty("faults.directory"));
        return Main.embedded(
                options,
                new Campaign(options, new SampleJvm(jar, home), directory, System.out, children),
                home,
                directory,
                children);
    }

    @Test
    void nothingIsDoneTwiceOrLostInOneTransaction() throws Exception {
        Report report = run(20, Mode.SAME_TRANSACTION);
        assertThat(report.isClean()).as(report.details()).isTrue();
        assertThat(report.audit().unknown()).isZero();
        assertThat(report.faultCount()).isPositive();
        assertThat(report.histories()).hasSizeGreaterThanOrEqualTo(16);
        assertThat(Main.code(report)).isEqualTo(Main.KEPT);
        assertThat(report.summary()).contains("duplicates=0 lost=0 divergent=0 unknown=0 unbalanced=0");
        assertThat(report.audit().balance().entries()).isPositive();
    }

    /** The campaign can fail: without it, its silence would mean nothing. */
    @Test
    void duplicatesAreFoundWhereNothingIsProtected() throws Exception {
        Report report = run(6, Mode.UNPROTECTED);
        assertThat(report.audit().count(Breach.DUPLICATE)).isPositive();
        // Paid twice is booked twice: the ledger tells of what was done, not of what was meant.
        assertThat(report.audit().count(Breach.UNBALANCED)).as(report.details()).isZero();
        assertThat(Main.code(report)).isEqualTo(Main.BROKEN);
        assertThat(report.details()).contains("unprotected, so duplicates must be found");
    }
}
