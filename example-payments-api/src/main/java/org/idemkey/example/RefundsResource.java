// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import jakarta.ws.rs.GET;
import jakarta.ws.rs.HeaderParam;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.QueryParam;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.SecurityContext;
import java.net.URI;
import java.sql.SQLException;
import java.util.List;
import org.idemkey.IdempotencyContext;
import org.idemkey.jaxrs.Idempotent;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code /refunds} and {@code /refunds/{id}}, as a JAX-RS resource. Public because the runtime calls it. */
@Path("")
public final class RefundsResource {

    private final Refunds refunds;

    RefundsResource(Refunds refunds) {
        this.refunds = refunds;
    }

    /** Refunds a payment, once per key. */
    @POST
    @Idempotent
    public Response refund(
            @Context SecurityContext merchant,
            @HeaderParam(HttpHeaders.CONTENT_TYPE) @Nullable String type,
            @HeaderParam(Idempotent.CONTEXT) @Nullable IdempotencyContext context,
            byte[] body)
            throws SQLException {
        Json.requireJson(type);
        RefundOrder order = RefundOrder.of(Json.parse(body));
        Refund refund = refunds.refund(name(merchant), order, context);
        return Response.created(URI.create("/refunds/" + refund.id()))
                .type(MediaType.APPLICATION_JSON)
                .entity(Json.bytes(json(refund)))
                .build();
    }

    /** Shows a refund. */
    @GET
    @Path("{id}")
    public Response find(@Context SecurityContext merchant, @PathParam("id") String id) throws SQLException {
        Refund refund = RefundOrder.isId(id) ? refunds.find(name(merchant), id).orElse(null) : null;
        if (refund == null) {
            throw ApiProblem.notFound();
        }
        return Response.ok(Json.bytes(json(refund)), MediaType.APPLICATION_JSON).build();
    }

    /** Shows the refunds of a payment. */
    @GET
    public Response list(@Context SecurityContext merchant, @QueryParam("payment") @Nullable String payment)
            throws SQLException {
        if (payment == null || !RefundOrder.isId(payment)) {
            throw ApiProblem.invalid(List.of(new ApiProblem.FieldError("payment", RefundOrder.PAYMENT_RULE)));
        }
        ArrayNode list = Json.array();
        for (Refund refund : refunds.list(name(merchant), payment)) {
            list.add(json(refund));
        }
        return Response.ok(Json.bytes(list), MediaType.APPLICATION_JSON).build();
    }

    private static String name(SecurityContext merchant) {
        return merchant.getUserPrincipal().getName();
    }

    private static ObjectNode json(Refund refund) {
        return Json.object()
                .put("id", refund.id())
                .put("payment", refund.payment())
                .put("amount", refund.amount())
                .put("currency", refund.currency())
                .put("createdAt", Json.time(refund.createdAt()));
    }
}
