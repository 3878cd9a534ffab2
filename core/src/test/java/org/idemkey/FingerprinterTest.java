// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** CONFORMANCE 11 to 13 and 15. */
class FingerprinterTest {

    private static final String DEEP = "[".repeat(2000) + "]".repeat(2000);

    @Test
    void theSameRequestHasTheSameFingerprint() throws IOException {
        assertThat(raw(request -> {})).isEqualTo(raw(request -> {}));
    }

    @Test
    void eachPartOfTheRequestCounts() throws IOException {
        assertThat(List.of(
                        raw(request -> {}),
                        raw(request -> request.method("PATCH")),
                        raw(request -> request.path("/payments/")),
                        raw(request -> request.query("")),
                        raw(request -> request.query("a=1")),
                        raw(request -> request.contentType("text/plain")),
                        raw(request -> request.contentType(null)),
                        raw(request -> request.body("{\"a\": 1}"))))
                .doesNotHaveDuplicates();
    }

    @Test
    void noByteMovesBetweenFieldsUnseen() throws IOException {
        assertThat(List.of(
                        raw(request -> request.path("/ab").query("c").body("d")),
                        raw(request -> request.path("/a").query("bc").body("d")),
                        raw(request -> request.path("/ab").query("").body("cd")),
                        raw(request -> request.path("/ab").query("cd").body("")),
                        raw(request -> request.path("/ab").query(null).body("cd")),
                        raw(request -> request.path("/abcd").query("").body(""))))
                .doesNotHaveDuplicates();
    }

    @Test
    void volatileHeadersDoNotCountAndChosenOnesDo() throws IOException {
        assertThat(raw(request -> request.header("traceparent", "00-1").header("Authorization", "Bearer 2")))
                .isEqualTo(raw(request -> {}));
        Fingerprinter chosen = new Fingerprinter(BodyMatching.RAW, List.of("X-Version"));
        assertThat(List.of(
                        of(chosen, request -> {}),
                        of(chosen, request -> request.header("x-version", "")),
                        of(chosen, request -> request.header("x-version", "1")),
                        of(chosen, request -> request.header("x-version", "1").header("X-Version", "1"))))
                .doesNotHaveDuplicates();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '\'',
            value = {
                "{\"a\":1,\"b\":[true,null]} | { \"b\" : [ true, null ], \"a\" : 1 }",
                "{\"a\":1.10} | {\"a\":1.1}",
                "{\"a\":100} | {\"a\":1e2}",
                "{\"a\":0} | {\"a\":-0.00}",
                "{\"a\":\"\\u00e9\"} | {\"a\":\"é\"}",
                "1e999999999 | 10e999999998",
            })
    void canonicalJsonComparesMeanings(String one, String other) throws IOException {
        assertThat(canonical(one)).isEqualTo(canonical(other));
        assertThat(raw(request -> request.body(one))).isNotEqualTo(raw(request -> request.body(other)));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '\'',
            value = {
                "{\"a\":9007199254740993} | {\"a\":9007199254740992}",
                "{\"a\":0.1} | {\"a\":0.10000000000000000001}",
                "{\"a\":1} | {\"a\":\"1\"}",
                "{\"a\":1,\"a\":2} | {\"a\":2}",
                "{\"a\":1,\"a\":2} | {\"a\":2,\"a\":1}",
                "[1,2] | [2,1]",
                "[[1],2] | [1,[2]]",
                "{\"a\":null} | {}",
                "[] | {}",
                "\"\\ud800\" | \"\\ud801\"",
                "{\"a\":[]} | {\"a\":[[]]}",
            })
    void canonicalJsonKeepsDifferentMeaningsApart(String one, String other) throws IOException {
        assertThat(canonical(one)).isNotEqualTo(canonical(other));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "{", "{} {}", "{\"a\":01}", "NaN", "{'a':1}", "// x", "[1,]", "nul"})
    void whatIsNoJsonIsComparedByteByByte(String text) throws IOException {
        assertThat(canonical(text)).isEqualTo(raw(request -> request.body(text)));
        assertThat(canonical(text + " ")).isNotEqualTo(canonical(text));
    }

    @Test
    void jsonPastTheLimitsOfTheParserIsComparedByteByByte() throws IOException {
        assertThat(canonical(DEEP)).isEqualTo(raw(request -> request.body(DEEP)));
        String digits = "1".repeat(5000);
        assertThat(canonical(digits)).isEqualTo(raw(request -> request.body(digits)));
    }

    @Test
    void onlyJsonMediaTypesAreReadAsJson() throws IOException {
        for (String type : List.of("application/json", "Application/JSON; charset=utf-8", "application/vnd.x+json")) {
            assertThat(canonical("[1, 2]", type)).as(type).isEqualTo(canonical("[1,2]", type));
        }
        for (String type : List.of("text/plain", "application/jsonx", "application/x+json2")) {
            assertThat(canonical("[1, 2]", type)).as(type).isNotEqualTo(canonical("[1,2]", type));
        }
    }

    private static Fingerprint raw(Consumer<FakeRequest> change) throws IOException {
        return of(new Fingerprinter(BodyMatching.RAW, List.of()), change);
    }

    private static Fingerprint canonical(String body) throws IOException {
        return canonical(body, "application/json");
    }

    private static Fingerprint canonical(String body, String type) throws IOException {
        return of(
                new Fingerprinter(BodyMatching.CANONICAL_JSON, List.of()),
                request -> request.body(body).contentType(type));
    }

    private static Fingerprint of(Fingerprinter fingerprinter, Consumer<FakeRequest> change) throws IOException {
        FakeRequest request = new FakeRequest();
        change.accept(request);
        return fingerprinter.fingerprint(request, request.body(new RequestBody.Limits(1 << 20, 1 << 16)));
    }
}
