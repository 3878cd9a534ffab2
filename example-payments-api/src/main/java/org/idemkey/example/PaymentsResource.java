// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.sql.SQLException;
import java.util.List;
import org.idemkey.IdempotencyContext;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code /payments} and {@code /payments/{id}}. */
final class PaymentsResource implements Endpoint.Handler {

    private final Payments payments;

    PaymentsResource(Payments payments) {
        this.payments = payments;
    }

    @Override
    public void handle(HttpServletRequest request, HttpServletResponse response) throws IOException, SQLException {
        String path = request.getPathInfo();
        String merchant = request.getRemoteUser();
        String method = request.getMethod();
        boolean reads = method.equals("GET") || method.equals("HEAD");
        if (path == null) {
            if (method.equals("POST")) {
                pay(merchant, request, response);
            } else if (reads) {
                list(merchant, request, response);
            } else {
                throw ApiProblem.methodNotAllowed("GET, HEAD, POST");
            }
        } else if (path.indexOf('/', 1) >= 0 || path.length() == 1) {
            throw ApiProblem.notFound();
        } else if (reads) {
            Payment payment = payments.find(merchant, path.substring(1)).orElseThrow(ApiProblem::notFound);
            Json.send(response, "application/json", json(payment));
        } else {
            throw ApiProblem.methodNotAllowed("GET, HEAD");
        }
    }

    private void pay(String merchant, HttpServletRequest request, HttpServletResponse response)
            throws IOException, SQLException {
        PaymentOrder order = PaymentOrder.of(Json.read(request));
        IdempotencyContext context = (IdempotencyContext) request.getAttribute(IdempotencyContext.ATTRIBUTE);
        Payment payment = payments.pay(merchant, order, context);
        response.setStatus(HttpServletResponse.SC_CREATED);
        response.setHeader("Location", "/payments/" + payment.id());
        Json.send(response, "application/json", json(payment));
    }

    private void list(String merchant, HttpServletRequest request, HttpServletResponse response)
            throws IOException, SQLException {
        String reference = request.getParameter("reference");
        if (reference == null || !PaymentOrder.isReference(reference)) {
            throw ApiProblem.invalid(List.of(new ApiProblem.FieldError("reference", PaymentOrder.REFERENCE_RULE)));
        }
        ArrayNode list = Json.array();
        for (Payment payment : payments.list(merchant, reference)) {
            list.add(json(payment));
        }
        Json.send(response, "application/json", list);
    }

    private static ObjectNode json(Payment payment) {
        return Json.object()
                .put("id", payment.id())
                .put("status", "succeeded")
                .put("amount", payment.amount())
                .put("currency", payment.currency())
                .put("reference", payment.reference())
                .put("createdAt", Json.time(payment.createdAt()));
    }
}
