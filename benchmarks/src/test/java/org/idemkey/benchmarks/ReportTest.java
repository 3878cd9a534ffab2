// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.idemkey.benchmarks.Comparison.Effort;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What only the full run measures, with few rows, and the page that it leaves. */
class ReportTest {

    private static final Effort LITTLE = new Effort(1, Duration.ofMillis(1), Duration.ZERO, Duration.ofMillis(1), 1);

    @Test
    void growthAndExpiryAreMeasuredAndReported(@TempDir Path directory) throws Exception {
        try (Database database = Database.open();
                Application application = new Application(database)) {
            Report report = new Report(database.version());
            Benchmarks.compare(application, LITTLE, Output.table(System.out)).forEach(report::add);
            long keys = database.number("SELECT count(*) FROM idempotency_key");

            report.add(new Expiry(database, application.store()).run(application.port(), 40_000, LITTLE));

            assertThat(database.number("SELECT count(*) FROM idempotency_key WHERE expires_at > now()"))
                    .isGreaterThan(keys);
            assertThat(database.number("SELECT count(*) FROM idempotency_key WHERE expires_at <= now()"))
                    .isLessThanOrEqualTo(20_000);

            for (Growth.Point point : new Growth(database).run(List.of(10L, 100L), LITTLE)) {
                report.add(point);
            }

            assertThat(database.number("SELECT count(*) FROM idempotency_key_100"))
                    .isGreaterThan(100);
            report.write(directory);
            assertThat(directory.resolve("benchmarks.md"))
                    .content()
                    .contains("| lease/unprotected | 32 | **", "| 100 | **", "`ExpiryCleaner` with a backlog removes");
            assertThat(Files.size(directory.resolve("benchmarks/ratios.png"))).isPositive();
            assertThat(Files.size(directory.resolve("benchmarks/growth.png"))).isPositive();
        }
    }
}
