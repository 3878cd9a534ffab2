// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import javax.sql.DataSource;

/** {@code /health}: whether the service can do its work, which takes its database. */
final class HealthResource implements Endpoint.Handler {

    private final DataSource dataSource;

    HealthResource(DataSource dataSource) {
        this.dataSource = dataSource;
    }

    @Override
    public void handle(HttpServletRequest request, HttpServletResponse response) throws IOException, SQLException {
        if (!request.getMethod().equals("GET") && !request.getMethod().equals("HEAD")) {
            throw ApiProblem.methodNotAllowed("GET, HEAD");
        }
        response.setHeader("Cache-Control", "no-store");
        // A statement, since a pool may hand out a connection that it has not looked at for a while.
        try (Connection connection = dataSource.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("SELECT 1");
        }
        Json.send(response, "application/json", Json.object().put("status", "up"));
    }
}
