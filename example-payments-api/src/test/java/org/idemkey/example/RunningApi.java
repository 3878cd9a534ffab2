// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import static io.restassured.RestAssured.given;

import io.restassured.specification.RequestSpecification;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import javax.sql.DataSource;
import org.idemkey.example.Settings.DatabaseAddress;

/** The service in this JVM, put together as the program does it, on a free port. Close it. */
final class RunningApi implements AutoCloseable {

    static {
        try {
            PaymentsApi.configureLogging();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private final PaymentsApi api;

    private RunningApi(PaymentsApi api) {
        this.api = api;
    }

    /** With settings beside the database's, in pairs of name and value, and a gateway that isn't slow at all. */
    static RunningApi start(DatabaseAddress database, String... settings) throws StartupException {
        return start(database, books -> new SimulatedGateway(books, () -> {}), settings);
    }

    /** With another gateway. */
    static RunningApi start(DatabaseAddress database, Function<DataSource, PaymentGateway> gateways, String... settings)
            throws StartupException {
        Map<String, String> environment = new HashMap<>();
        environment.put("PORT", "0");
        environment.put("DATABASE_URL", database.url());
        environment.put("DATABASE_USER", database.user());
        environment.put("DATABASE_PASSWORD", database.password());
        for (int i = 0; i < settings.length; i += 2) {
            environment.put(settings[i], settings[i + 1]);
        }
        return new RunningApi(PaymentsApi.start(Settings.of(environment), gateways));
    }

    int port() {
        return api.port();
    }

    /** How many connections of the payments' pool somebody holds. */
    int connectionsInUse() {
        return api.connectionsInUse();
    }

    String url(String path) {
        return "http://localhost:" + port() + path;
    }

    /** A request of nobody's. */
    RequestSpecification anonymous() {
        return given().port(port());
    }

    RequestSpecification alice() {
        return anonymous().header("Authorization", "Bearer sk_demo_alice");
    }

    RequestSpecification bob() {
        return anonymous().header("Authorization", "Bearer sk_demo_bob");
    }

    @Override
    public void close() {
        api.close();
    }
}
