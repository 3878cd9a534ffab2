// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import java.net.URI;
import java.util.Set;

/**
 * A real container on a free port of the loopback interface. Which one is said by the system property
 * {@code idemkey.container}: the name of a class here, Tomcat's by default, so that the same tests run on all of them.
 */
interface ServletServer extends AutoCloseable {

    /** Starts the container with one web application at the root. */
    void start(WebApp app) throws Exception;

    int port();

    @Override
    void close();

    /** Where the container does as it likes, or otherwise than the specification says, with a filter and without. */
    default Set<Quirk> quirks() {
        return Set.of();
    }

    /** What a container may do that others don't; the tests expect it there and nowhere else. */
    enum Quirk {
        /** A 304 without body says {@code Content-Length: 0}, which RFC 9110 §8.6 doesn't forbid. */
        LENGTH_OF_NOT_MODIFIED,
        /** Whether a space stands before {@code charset=} depends on the order of the calls that set type and encoding. */
        SPACE_IN_TYPE
    }

    default URI uri() {
        return URI.create("http://localhost:" + port());
    }

    static ServletServer started(WebApp app) throws Exception {
        String name = System.getProperty("idemkey.container", "TomcatServer");
        ServletServer server = Class.forName(ServletServer.class.getPackageName() + "." + name)
                .asSubclass(ServletServer.class)
                .getDeclaredConstructor()
                .newInstance();
        try {
            server.start(app);
        } catch (Throwable e) {
            server.close();
            throw e;
        }
        return server;
    }
}
