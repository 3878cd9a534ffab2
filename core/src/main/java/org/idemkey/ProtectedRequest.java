// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A request as the engine sees it: what an adapter tells of its own kind of request. Asked once, on one thread. */
public interface ProtectedRequest {

    /** The method, in upper case as it stands in the request line. */
    String method();

    /** The path as it was sent, not decoded and not normalised. */
    String path();

    /** The query as it was sent, without its question mark; null if there is none. */
    @Nullable
    String query();

    /** The value of Content-Type; null if there is none. */
    @Nullable
    String contentType();

    /** Every field line of that name, in order; empty if there is none (RFC 9110 §5.2). */
    List<String> fieldLines(String name);

    /** The authenticated caller's name; null if nobody is. Never anything that the caller could forge. */
    @Nullable
    String caller();

    /**
     * The whole body, which is read at the first call and can be read again by the handler afterwards.
     *
     * @param limits how much is taken at most, and from where on it lies in a file
     * @throws RequestBody.TooLargeException if it has more bytes than the limits allow
     * @throws IOException if the client went away, or the body couldn't be kept
     */
    RequestBody body(RequestBody.Limits limits) throws IOException;
}
