// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import static java.util.Objects.requireNonNull;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A response as a store keeps it and a replay sends it: status, header fields in their order, and the body's bytes.
 *
 * <p>A response without a body has an empty one. A response that could not be kept, because it was too long or had left
 * before it was whole, has none: it is a <em>tombstone</em>, which says that the request was answered and must not run
 * again.
 *
 * <p>Immutable and thread-safe.
 */
public final class StoredResponse {

    private static final String ERROR_PAGE = ":error-page";

    private final int status;
    private final List<Header> headers;
    private final @Nullable Bytes body;

    private StoredResponse(int status, List<Header> headers, @Nullable Bytes body) {
        if (status < 100 || status > 999) {
            throw new IllegalArgumentException("a status has three digits: " + status);
        }
        this.status = status;
        this.headers = List.copyOf(headers);
        this.body = body;
    }

    /**
     * A response that can be replayed.
     *
     * @throws IllegalArgumentException if the status hasn't three digits
     */
    public static StoredResponse of(int status, List<Header> headers, Bytes body) {
        return new StoredResponse(status, headers, requireNonNull(body, "body"));
    }

    /** A tombstone: the request was answered with this status, but the answer can't be given again. */
    public static StoredResponse tombstone(int status) {
        return new StoredResponse(status, List.of(), null);
    }

    /**
     * An answer whose body the container renders: the first answer and each replay take the same way through its error
     * pages. Kept as a pseudo-field, whose name no real header field can have.
     *
     * @param message what the handler said; may be empty. Control characters become spaces
     */
    public static StoredResponse errorPage(int status, List<Header> headers, String message) {
        List<Header> all = new ArrayList<>(headers);
        all.add(new Header(ERROR_PAGE, HeaderRules.onOneLine(message)));
        return of(status, all, Bytes.EMPTY);
    }

    /** The message for the container's error page; absent unless {@link #errorPage(int, List, String)} made this. */
    public Optional<String> errorMessage() {
        return header(ERROR_PAGE);
    }

    /** The HTTP status, 100 to 999. */
    public int status() {
        return status;
    }

    /** All that a store has to keep, in order, repeated fields apart; see {@link #fields()} for what is sent. */
    public List<Header> headers() {
        return headers;
    }

    /** The header fields to be sent, in order, repeated ones apart; no pseudo-field is among them. */
    public List<Header> fields() {
        return errorMessage().isEmpty()
                ? headers
                : headers.stream()
                        .filter(header -> !header.name().equals(ERROR_PAGE))
                        .toList();
    }

    /** The same response with one field more, at the end. */
    StoredResponse with(Header field) {
        List<Header> all = new ArrayList<>(headers);
        all.add(field);
        return new StoredResponse(status, all, body);
    }

    /** The same response with other headers. */
    StoredResponse with(List<Header> others) {
        return new StoredResponse(status, others, body);
    }

    /** The body, empty for a response without one; absent for a tombstone. */
    public Optional<Bytes> body() {
        return Optional.ofNullable(body);
    }

    /** Whether the answer itself is gone and only the fact of it is kept. */
    public boolean isTombstone() {
        return body == null;
    }

    /** The value of the first field of that name, which is not case-sensitive. */
    public Optional<String> header(String name) {
        return headers.stream()
                .filter(header -> header.name().equalsIgnoreCase(name))
                .map(Header::value)
                .findFirst();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof StoredResponse that
                && status == that.status
                && headers.equals(that.headers)
                && Objects.equals(body, that.body);
    }

    @Override
    public int hashCode() {
        return Objects.hash(status, headers, body);
    }

    @Override
    public String toString() {
        return status + " with " + headers.size() + " headers and " + (body == null ? "no body kept" : body);
    }

    /**
     * One header field line.
     *
     * @param name a token (RFC 9110 §5.1), in the case that the handler wrote
     * @param value a field value (RFC 9110 §5.5): no control character but the tab, so no replay can split a response
     * @param appended whether the value stands beside what an outer layer set under this name ({@code addHeader});
     *     otherwise the first such line takes its place ({@code setHeader})
     */
    public record Header(String name, String value, boolean appended) {

        /**
         * Checks name and value.
         *
         * @throws IllegalArgumentException if name or value could break the framing of a response
         */
        public Header {
            requireNonNull(name, "name");
            requireNonNull(value, "value");
            if (!HeaderRules.isToken(name) && !name.equals(ERROR_PAGE)) {
                throw new IllegalArgumentException("not a header name: " + name.length() + " characters");
            }
            if (!HeaderRules.isFieldValue(value)) {
                throw new IllegalArgumentException("a control character in the value of " + name);
            }
        }

        /** A field that takes the place of an outer layer's. */
        public Header(String name, String value) {
            this(name, value, false);
        }

        /**
         * What a handler wrote, made fit to be kept: control characters in the value become spaces, which is what
         * servers send for them (RFC 9110 §5.5).
         *
         * @return empty if no HTTP message can carry a field of that name
         */
        public static Optional<Header> lenient(String name, String value, boolean appended) {
            return HeaderRules.isToken(name)
                    ? Optional.of(new Header(name, HeaderRules.onOneLine(value), appended))
                    : Optional.empty();
        }
    }
}
