// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.sql.SQLException;
import java.util.List;
import tools.jackson.databind.node.ArrayNode;

/** {@code /ledger}: the merchant's own entries for a reference. */
final class LedgerResource implements Endpoint.Handler {

    private final Ledger ledger;

    LedgerResource(Ledger ledger) {
        this.ledger = ledger;
    }

    @Override
    public void handle(HttpServletRequest request, HttpServletResponse response) throws IOException, SQLException {
        if (request.getPathInfo() != null) {
            throw ApiProblem.notFound();
        }
        String method = request.getMethod();
        if (!method.equals("GET") && !method.equals("HEAD")) {
            throw ApiProblem.methodNotAllowed("GET, HEAD");
        }
        String reference = request.getParameter("reference");
        if (reference == null || !PaymentOrder.isReference(reference)) {
            throw ApiProblem.invalid(List.of(new ApiProblem.FieldError("reference", PaymentOrder.REFERENCE_RULE)));
        }
        ArrayNode list = Json.array();
        for (LedgerEntry entry : ledger.list(request.getRemoteUser(), reference)) {
            list.add(Json.object()
                    .put("type", entry.type())
                    .put("payment", entry.payment())
                    .put("amount", entry.amount())
                    .put("currency", entry.currency())
                    .put("reference", entry.reference())
                    .put("bookedAt", Json.time(entry.bookedAt())));
        }
        Json.send(response, "application/json", list);
    }
}
