// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.scenarios;

import jakarta.ws.rs.HeaderParam;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.WebApplicationException;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.sse.Sse;
import jakarta.ws.rs.sse.SseEventSink;
import org.idemkey.IdempotencyContext;
import org.idemkey.jaxrs.Idempotent;

/** Sends events, where the runtime can. */
@Path("events")
public final class EventBench {

    private final Ledger ledger;

    EventBench(Ledger ledger) {
        this.ledger = ledger;
    }

    /** Two events, the second one when it may. */
    @POST
    @Path("{how}")
    @Idempotent
    @Produces(MediaType.SERVER_SENT_EVENTS)
    public void events(
            @HeaderParam(Idempotent.CONTEXT) IdempotencyContext context,
            @PathParam("how") String how,
            @Context SseEventSink sink,
            @Context Sse sse) {
        String key = context.key().value();
        ledger.execute(key);
        if (how.equals("refused")) {
            throw new WebApplicationException(Response.status(409)
                    .entity("full")
                    .type(MediaType.TEXT_PLAIN)
                    .build());
        }
        sink.send(sse.newEvent("one"));
        ledger.elsewhere.execute(() -> {
            ledger.await(key);
            sink.send(sse.newEvent("two"));
            close(sink);
        });
    }

    /** Through the wider interface: 4.0 lets it throw what 3.1 doesn't know. */
    private static void close(AutoCloseable sink) {
        try {
            sink.close();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
