// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * An answer that says no, as a problem document (RFC 9457). Its types are this API's own: Idemkey's problems have others,
 * even where the status is the same.
 */
final class ApiProblem extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /** One of the request's fields that is wrong, and how it should be. */
    record FieldError(String field, String detail) {}

    private final int status;
    private final String type;
    private final String title;
    private final String detail;
    private final transient List<FieldError> errors;
    private final transient Map<String, String> headers;

    private ApiProblem(
            int status,
            String type,
            String title,
            String detail,
            List<FieldError> errors,
            Map<String, String> headers) {
        // An answer, not a fault: nobody reads where it came from.
        super(detail, null, false, false);
        this.status = status;
        this.type = "https://idemkey.org/example/problems/" + type;
        this.title = title;
        this.detail = detail;
        this.errors = errors;
        this.headers = headers;
    }

    private static ApiProblem of(int status, String type, String title, String detail) {
        return new ApiProblem(status, type, title, detail, List.of(), Map.of());
    }

    static ApiProblem malformed(String detail) {
        return of(400, "malformed-request", "Malformed request", detail);
    }

    static ApiProblem unauthorized(String detail, String challenge) {
        return new ApiProblem(
                401, "unauthorized", "Unauthorized", detail, List.of(), Map.of("WWW-Authenticate", challenge));
    }

    static ApiProblem declined(String reason) {
        return of(402, "payment-declined", "Payment declined", reason);
    }

    static ApiProblem notFound() {
        return of(404, "not-found", "Not found", "There is no such resource.");
    }

    /** The method isn't among those that are allowed here, given as {@code Allow} wants them. */
    static ApiProblem methodNotAllowed(String allowed) {
        return new ApiProblem(
                405,
                "method-not-allowed",
                "Method not allowed",
                "This resource allows " + allowed + ".",
                List.of(),
                Map.of("Allow", allowed));
    }

    static ApiProblem superseded() {
        return of(409, "superseded", "Superseded", "Another request with this key has taken over from this one.");
    }

    static ApiProblem notJson() {
        return of(415, "unsupported-media-type", "Unsupported media type", "The body must be application/json.");
    }

    static ApiProblem invalid(List<FieldError> errors) {
        String detail = errors.stream()
                .map(error -> error.field() + " " + error.detail())
                .collect(Collectors.joining("; ", "", "."));
        return new ApiProblem(422, "invalid-request", "Invalid request", detail, List.copyOf(errors), Map.of());
    }

    static ApiProblem refundTooLarge(long left) {
        return of(
                422,
                "refund-too-large",
                "Refund too large",
                "Of this payment, " + left + " in minor units is left to be refunded.");
    }

    static ApiProblem gatewayFailed() {
        return of(502, "gateway-failed", "Payment gateway failed", "The payment gateway gave no valid answer.");
    }

    static ApiProblem databaseUnavailable() {
        return new ApiProblem(
                503,
                "database-unavailable",
                "Database unavailable",
                "The service can't reach its database. Send the request again later.",
                List.of(),
                Map.of("Retry-After", "1"));
    }

    /** What the container has to say by itself, in its own words nothing. */
    static ApiProblem ofContainer(int status) {
        return status < 500
                ? of(status, "bad-request", "Bad request", "The server does not understand the request.")
                : of(status, "internal-error", "Internal error", "The server failed. Its log knows why.");
    }

    int status() {
        return status;
    }

    Map<String, String> headers() {
        return headers;
    }

    /** The problem document. */
    ObjectNode document() {
        ObjectNode document = Json.object();
        document.put("type", type);
        document.put("title", title);
        document.put("status", status);
        document.put("detail", detail);
        if (!errors.isEmpty()) {
            ArrayNode list = document.putArray("errors");
            for (FieldError error : errors) {
                list.addObject().put("field", error.field()).put("detail", error.detail());
            }
        }
        return document;
    }

    /** Sends it. */
    void send(HttpServletResponse response) throws IOException {
        response.setStatus(status);
        headers.forEach(response::setHeader);
        Json.send(response, "application/problem+json", document());
    }
}
