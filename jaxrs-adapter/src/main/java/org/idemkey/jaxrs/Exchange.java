// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs;

import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.container.ContainerResponseContext;
import jakarta.ws.rs.ext.InterceptorContext;
import java.util.List;
import org.idemkey.Bytes;
import org.idemkey.RequestBody;
import org.idemkey.StoredResponse;
import org.idemkey.StoredResponse.Header;
import org.jspecify.annotations.Nullable;

/**
 * What the filters and the interceptor have to tell each other about one request. It lies in the request's properties;
 * they are called one after the other, though maybe on several threads.
 *
 * <table>
 * <caption>What it can be</caption>
 * <tr><th>claim</th><th>answer</th><th>meaning</th></tr>
 * <tr><td>open</td><td>none</td><td>the handler runs, or its answer is being written</td></tr>
 * <tr><td>ended</td><td>none</td><td>its answer is on its way to the client</td></tr>
 * <tr><td>none, or ended</td><td>one</td><td>this is to be sent, whatever the handler, filters and mappers say</td></tr>
 * <tr><td>none</td><td>none</td><td>the request runs unprotected; only its body was read</td></tr>
 * </table>
 */
final class Exchange {

    private static final String PROPERTY = Exchange.class.getName();

    private final @Nullable OpenClaim claim;
    private @Nullable StoredResponse answer;
    private @Nullable RequestBody body;
    private @Nullable ContainerResponseContext response;
    private List<Header> ofHandler = List.of();
    private List<Header> ofFilters = List.of();

    private Exchange(@Nullable OpenClaim claim, @Nullable StoredResponse answer, @Nullable RequestBody body) {
        this.claim = claim;
        this.answer = answer;
        this.body = body;
    }

    static Exchange claimed(OpenClaim claim) {
        return new Exchange(claim, null, null);
    }

    static Exchange answered(StoredResponse answer) {
        return new Exchange(null, answer, null);
    }

    static Exchange unprotected(@Nullable RequestBody body) {
        return new Exchange(null, null, body);
    }

    /**
     * Null also where a container has answered already, and taken back its request or lent it to the next one: Jersey
     * tells it of an unmapped exception before it calls the response filters.
     */
    static @Nullable Exchange of(ContainerRequestContext request) {
        Exchange found;
        try {
            found = (Exchange) request.getProperty(PROPERTY);
        } catch (IllegalStateException e) {
            return null;
        }
        return found == null || found.claim == null || found.claim.token().equals(OpenClaims.token(request))
                ? found
                : null;
    }

    static @Nullable Exchange of(InterceptorContext entity) {
        return (Exchange) entity.getProperty(PROPERTY);
    }

    void attachTo(ContainerRequestContext request) {
        request.setProperty(PROPERTY, this);
    }

    void owns(@Nullable RequestBody requestBody) {
        body = requestBody;
    }

    /** The claim, if it hasn't ended. */
    @Nullable
    OpenClaim openClaim() {
        return claim != null && claim.isOpen() ? claim : null;
    }

    /** Whether the handler has run, so that the application's filters have seen its answer. */
    boolean wasClaimed() {
        return claim != null;
    }

    /** What is to be sent, whatever the handler says. */
    @Nullable
    StoredResponse answer() {
        return answer;
    }

    /** The handler's answer, before the application's filters see it. May happen again, if one of these throws. */
    void handlerSaid(ContainerResponseContext said) {
        response = said;
        ofHandler = ResponseFields.of(said.getHeaders());
        ofFilters = ofHandler;
    }

    /** The answer after all filters. */
    void filtersSaid(ContainerResponseContext said) {
        response = said;
        ofFilters = ResponseFields.of(said.getHeaders());
    }

    ContainerResponseContext response() {
        if (response == null) {
            throw new IllegalStateException("the runtime writes an entity before it calls the response filters");
        }
        return response;
    }

    /** What is to be kept of the answer as it stands now. */
    StoredResponse keepable(Bytes bytes) {
        return StoredResponse.of(response().getStatus(), fields(), bytes);
    }

    /** The same, of an answer without an entity: a container may render a page of its own for it. */
    StoredResponse keepable() {
        int status = response().getStatus();
        return status < 400
                ? StoredResponse.of(status, fields(), Bytes.EMPTY)
                : StoredResponse.errorPage(status, fields(), "");
    }

    private List<Header> fields() {
        return ResponseFields.kept(
                ofHandler, ofFilters, ResponseFields.of(response().getHeaders()));
    }

    /**
     * Ends the claim, if it is open, before the first byte leaves.
     *
     * @return whether the answer may leave; else {@link #answer} has to, in its place
     */
    boolean finish(StoredResponse said) {
        OpenClaim open = openClaim();
        if (open != null) {
            answer = open.finish(said);
        }
        return answer == null;
    }

    /** Whoever has had the answer needs the request's body no more. */
    void close() {
        if (body != null) {
            body.close();
        }
    }
}
