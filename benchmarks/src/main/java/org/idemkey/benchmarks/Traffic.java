// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What is sent to an endpoint, and what has to come back. A scenario and its twin get the same bytes, the path aside.
 *
 * @param replay whether each answer must be marked as a replay; otherwise none may be
 * @param keys which key the next request has
 */
record Traffic(String method, String path, boolean replay, Keys keys) {

    static final int KEY_LENGTH = 36;

    private static final String BODY = """
            {"amount":1250,"currency":"EUR","source":"tok_visa","reference":"order-1001","description":"Two tickets, \
            second row, to be collected at the door","metadata":{"basket":"7f1c","channel":"web"}}""";
    private static final String NO_KEY = "0".repeat(KEY_LENGTH);
    private static final byte[] HEX = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);

    /** Posts with keys that nobody has seen. */
    static Traffic first(String path) {
        return new Traffic("POST", path, false, Keys.FRESH);
    }

    /** Posts with keys of which each has been used before. */
    static Traffic repeated(String path, byte[][] keys) {
        return new Traffic("POST", path, true, (request, offset, random) -> {
            byte[] key = keys[(int) Long.remainderUnsigned(random, keys.length)];
            System.arraycopy(key, 0, request, offset, KEY_LENGTH);
        });
    }

    /** Posts with these keys, one after the other, each of them once. */
    static Traffic each(String path, byte[][] keys) {
        AtomicLong next = new AtomicLong();
        return new Traffic(
                "POST",
                path,
                false,
                (request, offset, random) ->
                        System.arraycopy(keys[(int) next.getAndIncrement()], 0, request, offset, KEY_LENGTH));
    }

    /** Puts, which the filter lets pass. */
    static Traffic unprotected(String path) {
        return new Traffic("PUT", path, false, Keys.FRESH);
    }

    /** The request, with room for a key at {@link #keyOffset()}. */
    byte[] template() {
        return (method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: \"" + NO_KEY
                        + "\"\r\nContent-Type: application/json\r\nContent-Length: " + BODY.length() + "\r\n\r\n"
                        + BODY)
                .getBytes(StandardCharsets.US_ASCII);
    }

    int keyOffset() {
        return new String(template(), StandardCharsets.US_ASCII).indexOf(NO_KEY);
    }

    /** Keys like a client's UUIDs: as long, and in no order. */
    static byte[][] newKeys(int count) {
        byte[][] keys = new byte[count][KEY_LENGTH];
        for (byte[] key : keys) {
            Keys.FRESH.put(key, 0, 0);
        }
        return keys;
    }

    /** The finishing step of SplitMix64: every number becomes another one, seemingly random. */
    static long mix(long number) {
        long z = number + 0x9e3779b97f4a7c15L;
        z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
        z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
        return z ^ (z >>> 31);
    }

    /** Writes the next request's key. Thread-safe. */
    @FunctionalInterface
    interface Keys {

        /** A key that comes once in the life of this process. */
        Keys FRESH = new Keys() {
            private final AtomicLong next = new AtomicLong(System.nanoTime());

            @Override
            public void put(byte[] request, int offset, long random) {
                long number = next.getAndIncrement();
                hex(request, offset, mix(number), 16);
                hex(request, offset + 16, mix(~number), 16);
                hex(request, offset + 32, 0, KEY_LENGTH - 32);
            }
        };

        /**
         * Writes {@value #KEY_LENGTH} characters.
         *
         * @param random a number at hand for whoever needs one
         */
        void put(byte[] request, int offset, long random);
    }

    private static void hex(byte[] target, int offset, long bits, int digits) {
        for (int i = 0; i < digits; i++) {
            target[offset + i] = HEX[(int) (bits >>> (60 - 4 * i)) & 15];
        }
    }
}
