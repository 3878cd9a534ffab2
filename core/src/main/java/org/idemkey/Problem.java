// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import org.idemkey.StoredResponse.Header;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.json.JsonFactory;

/**
 * Every answer that Idemkey gives by itself, as a problem document (RFC 9457). The type tells them from the
 * application's own answers, which use 409 and 422 too.
 */
public enum Problem {
    /** The request has no key, though one is required. */
    KEY_MISSING("key-missing", 400, "Idempotency key missing"),
    /** The header holds no valid key. */
    KEY_INVALID("key-invalid", 400, "Idempotency key invalid"),
    /** The key belongs to another request. */
    MISMATCH("key-reused", 422, "Idempotency key used for another request"),
    /** The same request is in flight; try again later. */
    IN_PROGRESS("in-progress", 409, "Request in progress"),
    /** The first execution never told how it ended; it is not run again. */
    OUTCOME_UNKNOWN("outcome-unknown", 409, "Outcome unknown"),
    /** The request has run, but its answer was not kept. */
    RESPONSE_NOT_REPLAYABLE("response-not-replayable", 409, "Response not replayable"),
    /** The request body is over the limit. */
    BODY_TOO_LARGE("body-too-large", 413, "Request body too large"),
    /** The store could not be asked, so nothing was run; or it could not say how a commit had ended. */
    STORE_UNAVAILABLE("store-unavailable", 503, "Idempotency store unavailable");

    private static final JsonFactory JSON = new JsonFactory();

    private final URI type;
    private final int status;
    private final String title;

    Problem(String name, int status, String title) {
        this.type = URI.create("https://idemkey.org/problems/" + name);
        this.status = status;
        this.title = title;
    }

    /** The absolute URI that stands in the document's {@code type}. It names the problem; nothing need be served there. */
    public URI type() {
        return type;
    }

    /** The HTTP status, unless the engine is told otherwise. */
    public int status() {
        return status;
    }

    /** Whether waiting helps. */
    boolean isTransient() {
        return this == IN_PROGRESS || this == STORE_UNAVAILABLE;
    }

    StoredResponse toResponse(int status, String detail, long retryAfterSeconds) {
        List<Header> headers = new ArrayList<>(3);
        headers.add(new Header("Content-Type", "application/problem+json"));
        headers.add(new Header("Cache-Control", "no-store"));
        if (isTransient()) {
            headers.add(new Header("Retry-After", Long.toString(retryAfterSeconds)));
        }
        ByteArrayOutputStream document = new ByteArrayOutputStream(256);
        try (JsonGenerator json = JSON.createGenerator(ObjectWriteContext.empty(), document)) {
            json.writeStartObject();
            json.writeStringProperty("type", type.toString());
            json.writeStringProperty("title", title);
            json.writeNumberProperty("status", status);
            json.writeStringProperty("detail", detail);
            json.writeEndObject();
        }
        return StoredResponse.of(status, headers, Bytes.wrap(document.toByteArray()));
    }
}
