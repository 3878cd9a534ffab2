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
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import javax.sql.DataSource;
import org.idemkey.IdempotencyContext;
import org.idemkey.jaxrs.Idempotent;

/** Resource methods that write in their claim's transaction. */
@Path("shared")
@Produces(MediaType.TEXT_PLAIN)
public final class SharedBench {

    private final DataSource joined;
    private final Ledger ledger;

    SharedBench(DataSource joined, Ledger ledger) {
        this.joined = joined;
        this.ledger = ledger;
    }

    /** Writes on the request's own thread, by plain JDBC as it would be written without us; ends as it is told. */
    @POST
    @Path("{how}")
    @Idempotent
    public Response write(@HeaderParam(Bench.KEY) String key, @PathParam("how") String how) throws SQLException {
        int execution = ledger.execute(key);
        try (Connection connection = joined.getConnection()) {
            connection.setAutoCommit(false);
            insert(connection, key, how.equals("uncommittable"));
            if (how.equals("declined")) {
                connection.rollback();
                return Response.status(402).entity("declined").build();
            }
            connection.commit();
        }
        if (how.equals("gated")) {
            ledger.await(key);
        }
        if (how.equals("throw-once") && execution == 1) {
            throw new IllegalStateException("after the effect");
        }
        return answer(how, execution);
    }

    /** Writes on another thread, by the connection of its context. */
    @POST
    @Path("stage")
    @Idempotent
    public CompletionStage<Response> stage(@HeaderParam(Idempotent.CONTEXT) IdempotencyContext context) {
        return CompletableFuture.supplyAsync(() -> writeElsewhere(context, "stage"), ledger.elsewhere);
    }

    /** Writes on another thread, by the connection of its context. */
    @POST
    @Path("suspended/{how}")
    @Idempotent
    public void suspended(
            @HeaderParam(Idempotent.CONTEXT) IdempotencyContext context,
            @PathParam("how") String how,
            @Suspended AsyncResponse response) {
        ledger.elsewhere.execute(() -> {
            try {
                response.resume(writeElsewhere(context, how));
            } catch (RuntimeException e) {
                response.resume(e);
            }
        });
    }

    private Response writeElsewhere(IdempotencyContext context, String how) {
        int execution = ledger.execute(context.key().value());
        try {
            // The claim's own: whoever claimed closes it.
            insert(context.lease().connection(), context.key().value(), false);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
        if (how.equals("throw-once") && execution == 1) {
            throw new IllegalStateException("after the effect");
        }
        return answer(how, execution);
    }

    private static Response answer(String how, int execution) {
        return how.equals("fail-once") && execution == 1
                ? Response.serverError().entity("failed").build()
                : Response.status(201).entity("execution " + execution).build();
    }

    private static void insert(Connection connection, String key, boolean uncommittable) throws SQLException {
        try (PreparedStatement insert =
                connection.prepareStatement("INSERT INTO effect (key, uncommittable) VALUES (?, ?)")) {
            insert.setString(1, key);
            insert.setBoolean(2, uncommittable);
            insert.executeUpdate();
        }
    }
}
