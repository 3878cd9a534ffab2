// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import java.io.IOException;

/** Something that a handler wants to be called with when it reads or writes without blocking. */
interface HandlerCallback {

    void call() throws IOException;

    /** What the call has thrown. */
    void onError(Throwable failure);

    /** Calls it; a failure goes to the handler's own {@code onError}, as in a container. */
    default void run() {
        try {
            call();
        } catch (Throwable e) {
            onError(e);
        }
    }
}
