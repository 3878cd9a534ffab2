// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.nio.charset.StandardCharsets;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;

/**
 * The numbers of the two advisory locks that a request in flight holds until its transaction ends: one for the request,
 * one for its key. They lie in PostgreSQL's space of single 64-bit numbers, spread over all of it by SHA-256.
 *
 * <p>They are a signal only: whether two numbers collide, or locks exist at all, the primary key decides who commits.
 */
enum AdvisoryLocks {
    /** What they are. */
    STANDARD,
    /** Never held by anybody, as on a database without them; for tests. */
    ABSENT,
    /** One number for all keys; for tests. */
    COLLIDING;

    private static final String TRY = "CASE WHEN NOT pg_try_advisory_xact_lock(?) THEN 1"
            + " WHEN NOT pg_try_advisory_xact_lock(?) THEN 2 ELSE 0 END";

    /**
     * An expression that tries both and is 0 where it got them, 1 where the request's is held, 2 where only the key's
     * is; with two parameters. The request's comes first: whoever holds a key's lock holds its request's, so the same
     * request never takes itself for another one.
     */
    String trySql() {
        return this == ABSENT ? "CASE WHEN ? = ?::bigint THEN 0 ELSE 0 END" : TRY;
    }

    /** The lock of this very request. */
    long ofRequest(IdempotencyKey key, Fingerprint fingerprint) {
        return number("request", key, fingerprint.hex());
    }

    /** The lock of the key, whatever the request. */
    long ofKey(IdempotencyKey key) {
        return number("key", key, "");
    }

    private long number(String kind, IdempotencyKey key, String rest) {
        if (this == COLLIDING) {
            return kind.length();
        }
        // Neither a key nor a fingerprint holds a line feed, so no two of them are written alike.
        String name = "idemkey " + kind + "\n" + key.value() + "\n" + rest + "\n"
                + key.scope().value();
        String hash = Fingerprint.of(name.getBytes(StandardCharsets.UTF_8)).hex();
        return Long.parseUnsignedLong(hash.substring(0, 16), 16);
    }
}
