// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.idemkey.Terms;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SettingsTest {

    @Test
    void anEmptyEnvironmentGivesTheDefaults() throws StartupException {
        assertThat(Settings.of(Map.of()))
                .isEqualTo(new Settings(
                        8080,
                        null,
                        Path.of("./payments-data"),
                        new Terms(Duration.ofSeconds(30), Duration.ofHours(24)),
                        IdempotencyMode.SAME_TRANSACTION,
                        null));
    }

    @Test
    void aVariableThatIsEmptyCountsAsOneThatIsNotSet() throws StartupException {
        assertThat(Settings.of(Map.of("PORT", "", "DATABASE_URL", " ", "DATA_DIR", "", "IDEMPOTENCY_LEASE", "")))
                .isEqualTo(Settings.of(Map.of()));
    }

    @Test
    void everyVariableIsTaken() throws StartupException {
        Settings settings = Settings.of(Map.of(
                "PORT", "0",
                "DATABASE_URL", "jdbc:postgresql://db.example:5433/shop?sslmode=disable",
                "DATABASE_USER", "shop",
                "DATABASE_PASSWORD", " secret ",
                "DATA_DIR", "/var/lib/shop",
                "IDEMPOTENCY_MODE", "joined-lease",
                "IDEMPOTENCY_LEASE", "PT1.5S",
                "IDEMPOTENCY_RETENTION", "P7D",
                "KAFKA_BOOTSTRAP_SERVERS", "kafka-1:9092,kafka-2:9092"));

        assertThat(settings)
                .isEqualTo(new Settings(
                        0,
                        new Settings.DatabaseAddress(
                                "jdbc:postgresql://db.example:5433/shop?sslmode=disable", "shop", " secret "),
                        Path.of("/var/lib/shop"),
                        new Terms(Duration.ofMillis(1500), Duration.ofDays(7)),
                        IdempotencyMode.JOINED_LEASE,
                        "kafka-1:9092,kafka-2:9092"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "PORT                  | eighty",
                "PORT                  | -1",
                "PORT                  | 65536",
                "PORT                  | 80.0",
                "PORT                  | 99999999999",
                "PORT                  | ٨٠",
                "IDEMPOTENCY_LEASE     | 30",
                "IDEMPOTENCY_LEASE     | PT0S",
                "IDEMPOTENCY_LEASE     | -PT30S",
                "IDEMPOTENCY_LEASE     | PT30S;",
                "IDEMPOTENCY_MODE      | transaction",
                "IDEMPOTENCY_MODE      | LEASE",
                "IDEMPOTENCY_RETENTION | PT-24H",
                "IDEMPOTENCY_RETENTION | P3651D",
                "IDEMPOTENCY_RETENTION | 1 day",
                "IDEMPOTENCY_RETENTION | PT9999999999999999999S",
                "KAFKA_BOOTSTRAP_SERVERS | kafka",
                "KAFKA_BOOTSTRAP_SERVERS | kafka:9092,",
                "KAFKA_BOOTSTRAP_SERVERS | kafka:9092 kafka:9093",
                "DATABASE_URL          | localhost:5432",
                "DATABASE_URL          | jdbc:mysql://localhost/payments",
                "DATABASE_URL          | postgres://localhost/payments",
                "DATABASE_URL          | jdbc:postgresql://localhost:port/payments",
            })
    void aWrongValueIsToldInOneLineThatNamesTheVariable(String name, String value) {
        assertThatThrownBy(() -> Settings.of(Map.of(name, value)))
                .isInstanceOf(StartupException.class)
                .hasMessageStartingWith(name + " must be ")
                .message()
                .doesNotContain("\n");
    }

    @Test
    void nothingThatMayHoldAPasswordIsPrinted() throws StartupException {
        Settings settings = Settings.of(Map.of(
                "DATABASE_URL", "jdbc:postgresql://localhost/payments?password=sesame", "DATABASE_PASSWORD", "open"));

        assertThat(settings.toString()).doesNotContain("sesame", "open");
        assertThatThrownBy(() -> Settings.of(Map.of("DATABASE_URL", "jdbc:oracle://x?password=sesame")))
                .message()
                .doesNotContain("sesame");
    }
}
