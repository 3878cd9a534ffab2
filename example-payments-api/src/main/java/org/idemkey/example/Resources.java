// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import java.util.ArrayDeque;
import java.util.Deque;

/** What has been opened, to be closed in the opposite order. Thread-safe, and closed once. */
final class Resources implements AutoCloseable {

    private static final System.Logger LOG = System.getLogger(Resources.class.getName());

    private final Deque<AutoCloseable> opened = new ArrayDeque<>();

    /** Keeps a resource until this is closed. */
    synchronized <T extends AutoCloseable> T add(T resource) {
        opened.push(resource);
        return resource;
    }

    /** Closes all of them, also if some can't be. */
    @Override
    public synchronized void close() {
        while (!opened.isEmpty()) {
            AutoCloseable resource = opened.pop();
            try {
                resource.close();
            } catch (Exception e) {
                LOG.log(System.Logger.Level.WARNING, "could not close " + resource.getClass(), e);
            }
        }
    }
}
