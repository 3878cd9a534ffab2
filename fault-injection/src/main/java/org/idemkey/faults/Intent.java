// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.nio.charset.StandardCharsets;

/**
 * What one client wants once: a key, and the payment it stands for. The reference is the key, which tells the auditor
 * whose payment and whose charge a row is.
 *
 * @param key unique in the campaign
 * @param merchant the caller's token
 * @param amount what is to be paid, unlike for each key nearby
 * @param source how
 * @param twist what the client does beside repeating itself until it has an answer
 */
record Intent(String key, String merchant, long amount, String source, Twist twist) {

    /** What clients do. */
    enum Twist {
        /** Nothing else. */
        NONE,
        /** Two clients send it at once, to both instances. */
        TWIN,
        /** It is sent again long after its answer. */
        LATE_REPEAT,
        /** The key is used for another amount, once it has its answer. */
        REUSE
    }

    /** Whether this source can be charged at all. */
    boolean isChargeable() {
        return source.equals("tok_visa") || source.equals("tok_slow");
    }

    /** Whether the gateway fails for this source, so that a mode that undoes failures has no final answer for it. */
    boolean failsAtGateway() {
        return source.equals("tok_gateway_error");
    }

    /** The reference of the payment that must never be made: the one of a reused key. */
    String reusedReference() {
        return key + ":reused";
    }

    /** The request as it goes over the wire: the same bytes each time. */
    byte[] request() {
        return post(amount, key);
    }

    /** Another request under the same key. */
    byte[] reuse() {
        return post(amount + 1, reusedReference());
    }

    private byte[] post(long amount, String reference) {
        String body = "{\"amount\": " + amount + ", \"currency\": \"EUR\", \"source\": \"" + source
                + "\", \"reference\": \"" + reference + "\"}";
        return ("POST /payments HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + merchant
                        + "\r\nIdempotency-Key: \"" + key + "\"\r\nContent-Type: application/json\r\nContent-Length: "
                        + body.length() + "\r\n\r\n" + body)
                .getBytes(StandardCharsets.US_ASCII);
    }

    /** Asks for one of this merchant's payments. */
    byte[] fetch(String id) {
        return ("GET /payments/" + id + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + merchant
                        + "\r\n\r\n")
                .getBytes(StandardCharsets.US_ASCII);
    }
}
