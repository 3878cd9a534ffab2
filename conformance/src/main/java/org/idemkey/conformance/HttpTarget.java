// SPDX-License-Identifier: Apache-2.0
package org.idemkey.conformance;

import java.net.URI;

/**
 * A server on a real port that the HTTP scenarios speak to, with an adapter of Idemkey between these layers:
 *
 * <ol>
 * <li>Outermost, a layer that stands for CORS and request-id filters: it sets {@code X-Outer} to a number that is new for
 *     each request, and {@code Vary} to {@code Origin}, on every response.
 * <li>Authentication: a request with {@code X-Caller: name} comes from the authenticated caller of that name; the name
 *     {@code refused} gets 401. A request without that header is anonymous.
 * <li>The adapter, with the engine given.
 * <li>The {@link HttpHandlers}: every POST, PATCH, PUT and GET of {@code /run/{name}} and of {@code /run/{name}/{rest}}
 *     is {@link HttpHandlers#handle}, whose answer is given as it is, and whose exceptions go to the server as they are.
 * </ol>
 */
public interface HttpTarget extends AutoCloseable {

    /** Where it is, without a path: {@code http://localhost:40123}. */
    URI uri();

    /** Stops the server. */
    @Override
    void close();
}
