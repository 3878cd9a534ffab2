// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs;

import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.StreamingOutput;
import jakarta.ws.rs.ext.WriterInterceptor;
import jakarta.ws.rs.ext.WriterInterceptorContext;
import java.io.IOException;
import java.io.OutputStream;
import org.idemkey.Bytes;
import org.idemkey.StoredResponse;
import org.jspecify.annotations.Nullable;

/**
 * The outermost interceptor: holds the entity's bytes back, encoded as they are by all others, until they are recorded.
 * A stored answer's bytes are written as they are, past all encoders.
 */
final class RecordingInterceptor implements WriterInterceptor {

    @Override
    public void aroundWriteTo(WriterInterceptorContext entity) throws IOException {
        Exchange exchange = Exchange.of(entity);
        if (exchange == null) {
            entity.proceed();
            return;
        }
        try {
            if (exchange.answer() == null) {
                write(entity, exchange);
            }
            StoredResponse answer = exchange.answer();
            if (answer != null) {
                give(answer, entity, exchange);
            }
        } finally {
            exchange.close();
        }
    }

    private static void write(WriterInterceptorContext entity, Exchange exchange) throws IOException {
        OpenClaim claim = exchange.openClaim();
        if (claim == null) {
            entity.proceed();
            return;
        }
        OutputStream client = entity.getOutputStream();
        HeldEntity held = new HeldEntity(client, claim.method().engine().maxResponseBytes(), () -> {
            return exchange.finish(StoredResponse.tombstone(exchange.response().getStatus()));
        });
        entity.setOutputStream(held);
        try {
            if (isEvents(entity.getMediaType())) {
                held.letGo();
            }
            entity.proceed();
            OutputStream last = entity.getOutputStream();
            if (last != held) {
                // An encoder of Jersey's leaves it to the runtime to close what it has put around the stream.
                last.close();
            }
        } catch (Throwable e) {
            if (exchange.answer() == null) {
                claim.fail(e);
                throw e;
            }
            // The entity was cut off, because something else has to be sent in its place.
        } finally {
            entity.setOutputStream(client);
        }
        if (held.isHeld()) {
            Bytes bytes = held.bytes();
            boolean whole = bytes.length() > 0 || isKnown(entity.getEntity());
            if (exchange.finish(
                    whole
                            ? exchange.keepable(bytes)
                            : StoredResponse.tombstone(exchange.response().getStatus()))) {
                bytes.writeTo(client);
            }
        }
    }

    private static void give(StoredResponse answer, WriterInterceptorContext entity, Exchange exchange)
            throws IOException {
        if (exchange.wasClaimed()) {
            StoredAnswer.replaceHead(answer, exchange.response());
        }
        // Runtimes keep the type in places of their own, too.
        entity.setMediaType(StoredAnswer.mediaType(answer));
        StoredAnswer.restoreFields(answer, entity.getHeaders());
        answer.body().orElse(Bytes.EMPTY).writeTo(entity.getOutputStream());
    }

    private static boolean isEvents(@Nullable MediaType type) {
        return type != null && MediaType.SERVER_SENT_EVENTS_TYPE.isCompatible(type) && !type.isWildcardType();
    }

    /**
     * Whether nothing is all that is written of an entity. A runtime's own kind of entity may be written only later,
     * piece by piece (Jersey's ChunkedOutput).
     */
    private static boolean isKnown(@Nullable Object entity) {
        return entity == null
                || entity instanceof StreamingOutput
                || entity.getClass().isArray()
                || entity.getClass().getName().startsWith("java.");
    }
}
