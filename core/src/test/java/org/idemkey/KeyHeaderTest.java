// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** CONFORMANCE 1 to 8. */
class KeyHeaderTest {

    private static final String UUID = "8e03978e-40d5-43e8-bc93-6894a57f9324";

    @Test
    void quotedAndBareAreTheSameKey() {
        assertThat(lenient('"' + UUID + '"')).isEqualTo(lenient(UUID)).isEqualTo(UUID);
    }

    @Test
    void escapesAreUndone() {
        assertThat(lenient("\"a\\\"b\\\\c\"")).isEqualTo("a\"b\\c");
    }

    @Test
    void spacesAroundAreDroppedAndSpacesInsideKept() {
        assertThat(lenient("  \" a b \"  ")).isEqualTo(" a b ");
        assertThat(lenient("  a-b  ")).isEqualTo("a-b");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\"k\";a",
                "\"k\";a=1;b=-1.5",
                "\"k\"; a=\"x;y\"",
                "\"k\";a=tok/en:x",
                "\"k\";a=:aGk=:",
                "\"k\";a=:aGk:",
                "\"k\";a=?0",
                "\"k\";a=@1659578233",
                "\"k\";a=%\"f%c3%bc\"",
                "\"k\";*a_-.*=*",
                "\"k\";a=123456789012345",
                "\"k\";a=123456789012.125 ",
            })
    void wellFormedParametersAreIgnored(String line) {
        assertThat(strict(line)).isEqualTo("k");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\"k\" ;a",
                "\"k\";",
                "\"k\";A",
                "\"k\";a=",
                "\"k\";a=1234567890123456",
                "\"k\";a=1234567890123.1",
                "\"k\";a=1.",
                "\"k\";a=1.2345",
                "\"k\";a=@1.5",
                "\"k\";a=?2",
                "\"k\";a=:a:",
                "\"k\";a=:aGk=",
                "\"k\";a=:aG==k:",
                "\"k\";a=%\"%C3\"",
                "\"k\";a=%\"%c3\"",
                "\"k\";a=%x",
                "\"k\";a=(1)",
                "\"k\"x",
                "\"k\", \"l\"",
                "\"k",
                "\"k\\n\"",
                "\"k\\\"",
                "\"k\t\"",
                "\"k\u007f\"",
                "\"k\u00e9\"",
            })
    void anythingElseInOrAfterAQuotedValueFails(String line) {
        assertMalformed(List.of(line), false);
        assertMalformed(List.of(line), true);
    }

    @ParameterizedTest
    @ValueSource(strings = {"a b", "a,b", "a\"b", "a\u00e9", "a\tb", "\ta", "a\u007f", "\u0000", "\ud83d\ude00"})
    void aBareValueHasVisibleAsciiWithoutQuoteAndComma(String line) {
        assertMalformed(List.of(line), false);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "   ", "\"\"", "\"\";a=1"})
    void emptyFails(String line) {
        assertMalformed(List.of(line), false);
        assertMalformed(List.of(line), true);
    }

    @ParameterizedTest
    @ValueSource(strings = {UUID, "1", "tok", ":aGk=:", "?1"})
    void strictTakesQuotedStringsOnly(String line) {
        assertThat(lenient(line)).isEqualTo(line);
        assertMalformed(List.of(line), true);
    }

    @Test
    void theLimitCountsUnquotedCharacters() {
        String longest = "\\\"".repeat(IdempotencyKey.MAX_LENGTH);
        assertThat(strict('"' + longest + '"')).hasSize(IdempotencyKey.MAX_LENGTH);
        assertThat(lenient("x".repeat(IdempotencyKey.MAX_LENGTH))).hasSize(IdempotencyKey.MAX_LENGTH);
        assertMalformed(List.of('"' + longest + "x\""), true);
        assertMalformed(List.of("x".repeat(IdempotencyKey.MAX_LENGTH + 1)), false);
    }

    @Test
    void twoFieldLinesFailEvenIfAlike() {
        assertMalformed(List.of("a", "a"), false);
        assertMalformed(List.of(), false);
    }

    @Test
    void caseIsKept() {
        assertThat(lenient("aB")).isEqualTo("aB").isNotEqualTo(lenient("ab"));
    }

    @Test
    void theMessageNeverHoldsTheValue() {
        assertThatExceptionOfType(KeyHeader.MalformedException.class)
                .isThrownBy(() -> KeyHeader.parse(List.of("\"secret\" secret"), false))
                .satisfies(e -> assertThat(e.getMessage()).doesNotContain("secret"));
    }

    private static String lenient(String line) {
        return KeyHeader.parse(List.of(line), false);
    }

    private static String strict(String line) {
        return KeyHeader.parse(List.of(line), true);
    }

    private static void assertMalformed(List<String> lines, boolean strict) {
        assertThatExceptionOfType(KeyHeader.MalformedException.class).isThrownBy(() -> KeyHeader.parse(lines, strict));
    }
}
