// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import static java.util.Objects.requireNonNull;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.UUID;
import org.apache.commons.codec.digest.DigestUtils;

/** What a handler can know about the protected request that it serves. Thread-safe. */
public final class IdempotencyContext {

    /** Where adapters leave it: a request attribute, or a request's property. */
    public static final String ATTRIBUTE = "org.idemkey.IdempotencyContext";

    private final Lease lease;

    /** The context of a claim. */
    public IdempotencyContext(Lease lease) {
        this.lease = requireNonNull(lease, "lease");
    }

    /** The key under which the request runs. */
    public IdempotencyKey key() {
        return lease.key();
    }

    /** 1 for the first execution; more where an earlier one ended in an unknown outcome and was chosen to run again. */
    public int attempt() {
        return lease.attempt();
    }

    /** The claim; a business transaction may {@link Lease#confirm} it, or work on its {@link Lease#connection}. */
    public Lease lease() {
        return lease;
    }

    /**
     * A key to pass on to a third party, as its own idempotency key: a UUID's 36 characters, the same for each attempt
     * of this request, and another one for each name, key and scope.
     *
     * <p>The body has no part in it: an attempt with another body must meet the third party's own check, not a second
     * charge.
     *
     * @param name what the call does, such as {@code "charge"}; unlike for each call that one request makes
     */
    public String downstreamKey(String name) {
        MessageDigest digest = DigestUtils.getSha256Digest();
        for (String field : new String[] {key().scope().value(), key().value(), requireNonNull(name, "name")}) {
            byte[] bytes = field.getBytes(StandardCharsets.UTF_8);
            digest.update(ByteBuffer.allocate(4).putInt(bytes.length).flip());
            digest.update(bytes);
        }
        ByteBuffer hash = ByteBuffer.wrap(digest.digest());
        // RFC 9562 §5.8: a UUID of a hash of our own choice is version 8, variant 10.
        long high = (hash.getLong() & ~0xf000L) | 0x8000L;
        long low = (hash.getLong() & ~(3L << 62)) | (2L << 62);
        return new UUID(high, low).toString();
    }
}
