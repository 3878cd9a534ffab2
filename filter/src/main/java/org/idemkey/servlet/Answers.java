// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpServletResponseWrapper;
import java.io.IOException;
import java.util.Optional;
import org.idemkey.Bytes;
import org.idemkey.StoredResponse;
import org.idemkey.StoredResponse.Header;
import org.jspecify.annotations.Nullable;

/** Sends answers that no handler has given: replays and refusals. */
final class Answers {

    private Answers() {}

    static void send(HttpServletResponse response, StoredResponse answer) throws IOException {
        response.setStatus(answer.status());
        for (Header field : answer.fields()) {
            if (field.name().equalsIgnoreCase("Content-Type")) {
                response.setContentType(field.value());
            } else if (field.appended()) {
                response.addHeader(field.name(), field.value());
            } else {
                response.setHeader(field.name(), field.value());
            }
        }
        Optional<String> errorMessage = answer.errorMessage();
        if (errorMessage.isPresent()) {
            sendError(response, answer.status(), errorMessage.get());
            return;
        }
        Bytes body = answer.body().orElse(Bytes.EMPTY);
        if (body.length() > 0) {
            if (!(response instanceof HttpServletResponseWrapper)) {
                response.setContentLength(body.length());
            }
            body.writeTo(response.getOutputStream());
        }
    }

    /** An empty message and none are the same to a container's page, and to what is kept. */
    static void sendError(HttpServletResponse response, int status, @Nullable String message) throws IOException {
        if (message == null || message.isEmpty()) {
            response.sendError(status);
        } else {
            response.sendError(status, message);
        }
    }
}
