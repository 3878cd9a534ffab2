// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

/** When two request bodies are the same. */
public enum BodyMatching {

    /** Byte by byte: right for any client that keeps the request it sends again. The default. */
    RAW,

    /**
     * For JSON (media type {@code application/json} or {@code …+json}), by meaning: white space and the order of
     * members don't count, numbers are compared as decimals (1.10 is 1.1, but 9007199254740993 is never
     * 9007199254740992), duplicate members are kept apart. Anything that isn't valid JSON is compared byte by byte.
     */
    CANONICAL_JSON
}
