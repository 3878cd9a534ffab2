// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.scenarios;

import java.net.URI;

/** A runtime with an application, on a real port. */
public interface RestServer extends AutoCloseable {

    /** Where the application's paths begin, with a slash at its end. */
    URI base();

    /** Waits until no request's own thread is in the application any more; nothing where the server doesn't tell. */
    default void awaitReturns() {}

    @Override
    void close();
}
