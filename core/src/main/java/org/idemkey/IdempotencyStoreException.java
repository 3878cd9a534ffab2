// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import org.jspecify.annotations.Nullable;

/**
 * The store can't be reached, doesn't answer in time, or refuses to write. Says nothing about the key: a caller that
 * gets it from a claim must not run the handler.
 */
public class IdempotencyStoreException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /**
     * The store could not be asked.
     *
     * @param message what was tried, without a raw key in it
     */
    public IdempotencyStoreException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
