// SPDX-License-Identifier: Apache-2.0
package org.idemkey.conformance;

import static org.junit.jupiter.params.provider.Arguments.arguments;

import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.idemkey.Bytes;
import org.idemkey.IdempotencyKey;
import org.idemkey.StoredResponse;
import org.idemkey.StoredResponse.Header;
import org.junit.jupiter.params.provider.Arguments;

/** Responses that are easy to keep wrongly, and keys that are easy to confuse. */
final class Responses {

    private Responses() {}

    // Lines 23 and 24.
    static Stream<StoredResponse> all() {
        return Stream.of(
                StoredResponse.of(204, List.of(), Bytes.EMPTY),
                StoredResponse.of(201, List.of(new Header("Location", "/payments/1")), Bytes.EMPTY),
                StoredResponse.of(
                        200,
                        List.of(
                                new Header("Link", "</a>; rel=\"next\""),
                                new Header("X-Trace", "1"),
                                new Header("Link", "</b>", true),
                                new Header("link", "</a>; rel=\"next\"", true)),
                        Bytes.utf8("{\"b\":1,  \"a\":1.10,\"a\":9007199254740993}\r\n")),
                StoredResponse.of(
                        402,
                        List.of(
                                new Header("X-Empty", ""),
                                new Header("X-Quoted", "\\\"'\t;:{}[]?,$1 %s \u00e9 \u20ac \ud83d\ude00")),
                        Bytes.wrap(everyByte())),
                StoredResponse.of(999, List.of(), Bytes.wrap(new byte[] {0})),
                StoredResponse.of(100, List.of(), Bytes.wrap(random(1 << 20))),
                StoredResponse.errorPage(500, List.of(new Header("X-Kept", "yes")), ""),
                StoredResponse.errorPage(404, List.of(), "no such \"order\" \u00fc"),
                StoredResponse.tombstone(200));
    }

    // Pairs of two different keys.
    static Stream<Arguments> trickyKeys() {
        return Stream.of(
                arguments("a", "A"),
                arguments("a", "a "),
                arguments(" a", "a"),
                arguments("'", "''"),
                arguments("\\", "\\\\"),
                arguments("%", "_"),
                arguments("?", "$1"),
                arguments("null", "NULL"),
                arguments("{a,b}", "{\"a\",\"b\"}"),
                arguments("'; DROP TABLE idempotency_key; --", "' OR '1'='1"),
                arguments("8e03978e-40d5-43dd-bc93-6894a57f9324", "8E03978E-40D5-43DD-BC93-6894A57F9324"),
                arguments("x".repeat(IdempotencyKey.MAX_LENGTH), "x".repeat(IdempotencyKey.MAX_LENGTH - 1)));
    }

    private static byte[] everyByte() {
        byte[] bytes = new byte[256];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) i;
        }
        return bytes;
    }

    private static byte[] random(int length) {
        byte[] bytes = new byte[length];
        new Random(1).nextBytes(bytes);
        return bytes;
    }
}
