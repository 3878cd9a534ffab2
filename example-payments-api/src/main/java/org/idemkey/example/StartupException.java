// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import org.jspecify.annotations.Nullable;

/** The service can't start as things are. The message is one line for whoever started it, without any secret. */
final class StartupException extends Exception {

    private static final long serialVersionUID = 1L;

    StartupException(String message) {
        this(message, null);
    }

    StartupException(String message, @Nullable Throwable cause) {
        super(message.strip().replaceAll("\\s*\\R\\s*", " "), cause);
    }
}
