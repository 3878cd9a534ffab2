// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import java.net.URI;

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
