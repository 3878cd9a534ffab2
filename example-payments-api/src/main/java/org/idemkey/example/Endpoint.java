// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.sql.SQLException;

/** Brings a handler to the container, and turns what it throws into answers. */
final class Endpoint extends HttpServlet {

    private static final long serialVersionUID = 1L;

    /** Answers requests. Thread-safe. */
    @FunctionalInterface
    interface Handler {

        /**
         * Answers one.
         *
         * @throws ApiProblem to have that sent instead
         * @throws SQLException if the database failed: 503 if it was out of reach, else 500
         */
        void handle(HttpServletRequest request, HttpServletResponse response) throws IOException, SQLException;
    }

    private final transient Handler handler;

    Endpoint(Handler handler) {
        this.handler = handler;
    }

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response)
            throws ServletException, IOException {
        try {
            handler.handle(request, response);
        } catch (ApiProblem problem) {
            problem.send(response);
        } catch (SQLException e) {
            if (!Database.isOutage(e)) {
                throw new ServletException(e);
            }
            ApiProblem.databaseUnavailable().send(response);
        }
    }
}
