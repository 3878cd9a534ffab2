// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import java.io.IOException;
import org.apache.catalina.connector.Request;
import org.apache.catalina.connector.Response;
import org.apache.catalina.valves.ErrorReportValve;
import org.jspecify.annotations.Nullable;

/**
 * Answers for what never reached a handler, or was thrown by one: a problem document instead of the container's page.
 * Nothing of what was thrown is in it. Public because the container makes it by its name.
 */
public final class ProblemReportValve extends ErrorReportValve {

    /** Made by the container. */
    public ProblemReportValve() {}

    @Override
    protected void report(Request request, Response response, @Nullable Throwable throwable) {
        if (response.getStatus() < 400 || response.getContentWritten() > 0 || !response.setErrorReported()) {
            return;
        }
        try {
            ApiProblem.ofContainer(response.getStatus()).send(response);
            response.finishResponse();
        } catch (IOException | IllegalStateException e) {
            // Nobody is left to tell, or the answer is on its way already.
        }
    }
}
