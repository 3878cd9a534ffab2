// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import jakarta.servlet.RequestDispatcher;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import java.io.IOException;

/**
 * Sees to it that a forward begins with an empty body, and that an include writes a body and nothing else; some
 * containers do so on their own response, and not on ours.
 */
final class HeldDispatcher implements RequestDispatcher {

    private final RequestDispatcher container;
    private final ClaimedRequest claimed;

    HeldDispatcher(RequestDispatcher container, ClaimedRequest claimed) {
        this.container = container;
        this.claimed = claimed;
    }

    /** Servlet 6.1 §9.4. */
    @Override
    public void forward(ServletRequest request, ServletResponse response) throws ServletException, IOException {
        response.resetBuffer();
        if (!claimed.isResponse(response)) {
            container.forward(request, response);
            return;
        }
        claimed.setForwarding(true);
        try {
            container.forward(request, response);
        } finally {
            claimed.setForwarding(false);
        }
    }

    /** Servlet 6.1 §9.3. */
    @Override
    public void include(ServletRequest request, ServletResponse response) throws ServletException, IOException {
        claimed.includeBegins();
        try {
            container.include(request, response);
        } finally {
            claimed.includeEnds();
        }
    }
}
