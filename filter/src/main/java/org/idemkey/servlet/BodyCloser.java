// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;
import org.idemkey.RequestBody;

/** Removes a body when its request is over, in as many asynchronous cycles as it takes. */
final class BodyCloser implements AsyncListener {

    private final RequestBody body;

    BodyCloser(RequestBody body) {
        this.body = body;
    }

    @Override
    public void onComplete(AsyncEvent event) {
        body.close();
    }

    @Override
    public void onStartAsync(AsyncEvent event) {
        event.getAsyncContext().addListener(this);
    }

    @Override
    public void onTimeout(AsyncEvent event) {
        // Completion follows.
    }

    @Override
    public void onError(AsyncEvent event) {
        // Completion follows.
    }
}
