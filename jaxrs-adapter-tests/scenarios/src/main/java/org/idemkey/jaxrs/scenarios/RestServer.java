// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.scenarios;

import java.net.URI;

/** A runtime with an application, on a real port. */
public interface RestServer extends AutoCloseable {

    /** Where the application's paths begin, with a slash at its end. */
    URI base();

    @Override
    void close();
}
