// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.scenarios;

import jakarta.ws.rs.HeaderParam;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.container.AsyncResponse;
import jakarta.ws.rs.container.Suspended;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.idemkey.IdempotencyContext;
import org.idemkey.jaxrs.Idempotent;

/** Resource methods that go on elsewhere. They take their context, as a transactional store demands. */
@Path("async")
@Produces(MediaType.TEXT_PLAIN)
public final class AsyncBench {

    private final Ledger ledger;

    AsyncBench(Ledger ledger) {
        this.ledger = ledger;
    }

    /** Ends as it is told, on another thread. */
    @POST
    @Path("suspended/{how}")
    @Idempotent
    public void suspended(
            @HeaderParam(Idempotent.CONTEXT) IdempotencyContext context,
            @PathParam("how") String how,
            @Suspended AsyncResponse response) {
        String key = context.key().value();
        int execution = ledger.execute(key);
        switch (how) {
            case "resume" ->
                ledger.elsewhere.execute(() -> {
                    ledger.await(key);
                    response.resume("execution " + execution);
                });
            case "at-once" -> response.resume("execution " + execution);
            case "fail" -> ledger.elsewhere.execute(() -> response.resume(new Filters.Declined()));
            case "fail-unmapped" ->
                ledger.elsewhere.execute(() -> response.resume(new IllegalStateException("elsewhere")));
            case "throw" -> throw new Filters.Declined();
            case "timeout" -> response.setTimeout(50, TimeUnit.MILLISECONDS);
            case "timeout-handled" -> {
                response.setTimeoutHandler(late ->
                        late.resume(Response.status(429).entity("still at work").build()));
                response.setTimeout(50, TimeUnit.MILLISECONDS);
            }
            case "cancel" -> ledger.elsewhere.execute(() -> response.cancel(7));
            default -> response.resume(Response.status(503).build());
        }
    }

    /** Ends as it is told, when the stage does. */
    @POST
    @Path("stage/{how}")
    @Idempotent
    public CompletionStage<Response> stage(
            @HeaderParam(Idempotent.CONTEXT) IdempotencyContext context, @PathParam("how") String how) {
        String key = context.key().value();
        int execution = ledger.execute(key);
        CompletableFuture<Response> stage = new CompletableFuture<>();
        switch (how) {
            case "later" ->
                ledger.elsewhere.execute(() -> {
                    ledger.await(key);
                    stage.complete(Response.status(201)
                            .entity("execution " + execution)
                            .build());
                });
            case "at-once" ->
                stage.complete(
                        Response.status(201).entity("execution " + execution).build());
            case "fail" -> ledger.elsewhere.execute(() -> stage.completeExceptionally(new Filters.Declined()));
            case "fail-at-once" -> stage.completeExceptionally(new Filters.Declined());
            default ->
                ledger.elsewhere.execute(
                        () -> stage.complete(Response.status(503).build()));
        }
        return stage;
    }
}
