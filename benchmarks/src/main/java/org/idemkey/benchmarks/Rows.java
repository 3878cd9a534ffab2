// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** Rows by the million: copies of one that a real request has left, under keys that are known again by their number. */
final class Rows {

    private Rows() {}

    /**
     * A statement that adds completed rows, whose keys have the numbers from 1 on.
     *
     * @param pattern the table with the one row to be copied
     * @param age an SQL interval, in which {@code n} is the row's number: how long ago it was claimed and will expire
     */
    static String copies(String table, String pattern, long count, String age) {
        return "INSERT INTO " + table + " (scope, key, request_hash, claim_token, lease_until, response_code,"
                + " response_headers, response_body, created_at, expires_at)"
                + " SELECT scope, md5(n::text) || '-key', request_hash, gen_random_uuid(), lease_until, response_code,"
                + " response_headers, response_body, created_at - " + age + ", expires_at - " + age
                + " FROM " + pattern + ", generate_series(1, " + count + ") AS n;";
    }

    /** The key of that number, as {@link #copies} makes it. */
    static String key(long number) {
        try {
            // Spreads the keys over the index, and is known to both sides; nothing depends on its strength.
            byte[] hash = MessageDigest.getInstance("MD5")
                    .digest(Long.toString(number).getBytes(StandardCharsets.US_ASCII));
            return HexFormat.of().formatHex(hash) + "-key";
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }
}
