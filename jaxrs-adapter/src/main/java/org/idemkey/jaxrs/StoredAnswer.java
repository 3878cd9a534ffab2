// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs;

import jakarta.ws.rs.container.ContainerResponseContext;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.MultivaluedMap;
import jakarta.ws.rs.core.Response;
import java.lang.annotation.Annotation;
import java.util.List;
import org.idemkey.Bytes;
import org.idemkey.StoredResponse;
import org.idemkey.StoredResponse.Header;
import org.jspecify.annotations.Nullable;

/** Turns a stored answer into what the runtime sends: replays, refusals, and what stands in for a handler's answer. */
final class StoredAnswer {

    private static final Annotation[] NONE = {};

    private StoredAnswer() {}

    static Response toResponse(StoredResponse answer) {
        Response.ResponseBuilder builder = Response.status(answer.status());
        for (Header field : answer.fields()) {
            builder.header(field.name(), field.value());
        }
        byte[] entity = entity(answer);
        if (entity != null) {
            builder.entity(entity);
            if (answer.header(HttpHeaders.CONTENT_TYPE).isEmpty()) {
                // Or the runtime would look for one by what the request accepts, and might find none: 406.
                builder.type(MediaType.APPLICATION_OCTET_STREAM_TYPE);
            }
        }
        return builder.build();
    }

    /**
     * The bytes to write; null if there is no entity, so that the runtime does as it does with any answer without one.
     * An empty entity of an error is one: for none, a container may render a page.
     */
    private static byte @Nullable [] entity(StoredResponse answer) {
        Bytes body = answer.body().orElse(Bytes.EMPTY);
        boolean empty = body.length() == 0;
        return answer.errorMessage().isPresent() || (empty && answer.status() < 400) ? null : body.toByteArray();
    }

    /** Each line of the fields, for a builder may leave out one that says what another one does, as CXF's does. */
    static void restoreLines(StoredResponse answer, MultivaluedMap<String, Object> fields) {
        List<Header> lines = answer.fields().stream()
                .filter(field -> !ResponseFields.describesBytes(field.name()))
                .toList();
        for (Header line : lines) {
            fields.remove(line.name());
        }
        for (Header line : lines) {
            fields.add(line.name(), line.value());
        }
    }

    /** Makes a response what the answer says, after the application's filters had their say. */
    static void restore(StoredResponse answer, ContainerResponseContext response) {
        response.setStatus(answer.status());
        byte[] entity = entity(answer);
        if (entity != null) {
            response.setEntity(entity, NONE, mediaType(answer));
        } else if (response.hasEntity()) {
            response.setEntity(null);
        }
        restoreFields(answer, response.getHeaders());
    }

    /** The type of the bytes; what isn't a type at all is none that a runtime can handle. */
    static MediaType mediaType(StoredResponse answer) {
        try {
            return answer.header(HttpHeaders.CONTENT_TYPE)
                    .map(MediaType::valueOf)
                    .orElse(MediaType.APPLICATION_OCTET_STREAM_TYPE);
        } catch (IllegalArgumentException e) {
            return MediaType.APPLICATION_OCTET_STREAM_TYPE;
        }
    }

    /** The fields that describe the bytes are those of the bytes, whatever a filter takes the bytes for. */
    static void restoreFields(StoredResponse answer, MultivaluedMap<String, Object> fields) {
        for (String name : List.copyOf(fields.keySet())) {
            if (ResponseFields.describesBytes(name)) {
                fields.remove(name);
            }
        }
        for (Header field : answer.fields()) {
            if (ResponseFields.describesBytes(field.name())) {
                fields.add(field.name(), field.value());
            }
        }
    }

    /** Makes status and fields what the answer says, where nobody else will see them any more. */
    static void replaceHead(StoredResponse answer, ContainerResponseContext response) {
        response.setStatus(answer.status());
        response.getHeaders().clear();
        for (Header field : answer.fields()) {
            response.getHeaders().add(field.name(), field.value());
        }
    }
}
