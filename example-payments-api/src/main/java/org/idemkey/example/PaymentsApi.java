// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import com.zaxxer.hikari.HikariDataSource;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.ServletContext;
import java.io.IOException;
import java.io.InputStream;
import java.net.ServerSocket;
import java.sql.SQLException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.function.Function;
import java.util.logging.LogManager;
import javax.sql.DataSource;
import org.apache.catalina.LifecycleException;
import org.idemkey.Idempotency;
import org.idemkey.IdempotencyStoreException;
import org.idemkey.example.Settings.DatabaseAddress;
import org.idemkey.messaging.MessagingSchema;
import org.idemkey.messaging.OutboxRelay;
import org.idemkey.postgres.PostgresSchema;
import org.idemkey.servlet.IdempotencyFilter;

/**
 * The service: puts the parts together, starts them, and stops them in the opposite order.
 *
 * <p>As a program it ends with status 2 and one line on standard error if it can't start as things are, and with 143
 * (128 + SIGTERM) when it is told to stop, after the requests that are running then.
 */
public final class PaymentsApi implements AutoCloseable {

    /** What {@code tok_slow} waits for. */
    private static final Duration SLOW_GATEWAY = Duration.ofSeconds(3);

    private static final int POOL_SIZE = 16;

    /** The gateway's books are read and written in no time. */
    private static final int GATEWAY_POOL_SIZE = 4;

    /** One for the relay, one for the consumer that it may call, and what requests for entries take. */
    private static final int LEDGER_POOL_SIZE = 4;

    private final Resources resources;
    private final HikariDataSource pool;
    private final HttpServer http;

    private PaymentsApi(Resources resources, HikariDataSource pool, HttpServer http) {
        this.resources = resources;
        this.pool = pool;
        this.http = http;
    }

    /** Starts the service with the settings of the environment, and runs until the process is told to stop. */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        run(PaymentsApi::simulatedGateway);
    }

    static void run(Function<DataSource, PaymentGateway> gateways) throws IOException, InterruptedException {
        configureLogging();
        try {
            PaymentsApi api = start(Settings.of(System.getenv()), gateways);
            Runtime.getRuntime().addShutdownHook(new Thread(api::close, "shutdown"));
            System.out.print(api.greeting());
            System.out.flush();
        } catch (StartupException e) {
            System.err.println("payments-api: " + e.getMessage());
            System.exit(2);
        }
        new CountDownLatch(1).await();
    }

    private static PaymentGateway simulatedGateway(DataSource books) {
        return new SimulatedGateway(books, () -> Thread.sleep(SLOW_GATEWAY.toMillis()));
    }

    /**
     * Starts the service.
     *
     * @param gateways makes the gateway, with a pool for its books
     * @throws StartupException if it can't; nothing is left running then
     */
    static PaymentsApi start(Settings settings, Function<DataSource, PaymentGateway> gateways) throws StartupException {
        Resources resources = new Resources();
        try {
            return start(settings, gateways, resources);
        } catch (Throwable e) {
            resources.close();
            throw e;
        }
    }

    private static PaymentsApi start(
            Settings settings, Function<DataSource, PaymentGateway> gateways, Resources resources)
            throws StartupException {
        requireFree(settings.port());
        DatabaseAddress address = settings.database();
        if (address == null) {
            address = resources
                    .add(EmbeddedDatabase.start(settings.dataDirectory()))
                    .address();
        } else {
            Database.check(address);
        }
        HikariDataSource pool = resources.add(Database.pool("payments", POOL_SIZE, address));
        DataSource books = resources.add(Database.pool("gateway", GATEWAY_POOL_SIZE, address));
        try {
            Database.createTables(pool);
            PostgresSchema.create(pool);
            MessagingSchema.create(pool);
        } catch (SQLException | IdempotencyStoreException e) {
            throw new StartupException("the tables can't be created: " + e.getMessage(), e);
        }
        // A pool of its own: what happens behind the requests must not take their connections.
        DataSource behind = resources.add(Database.pool("ledger", LEDGER_POOL_SIZE, address));
        Ledger ledger = new Ledger(behind);
        OutboxRelay relay = LedgerFeed.start(behind, ledger, settings.kafka(), resources);
        Protection protection = Protection.of(settings.mode(), settings.terms(), pool, relay::wake, resources);
        Payments payments = new Payments(
                new PaymentStore(protection.dataSource()), gateways.apply(books), protection.ownTransactions());
        Refunds refunds = new Refunds(new RefundStore(protection.dataSource()), protection.ownTransactions());
        try {
            HttpServer http = resources.add(new HttpServer(
                    settings.port(),
                    context -> register(
                            context,
                            protection,
                            payments,
                            refunds,
                            new LedgerResource(ledger),
                            new HealthResource(pool))));
            http.start();
            return new PaymentsApi(resources, pool, http);
        } catch (IOException | LifecycleException e) {
            throw new StartupException("the HTTP server can't be started on port " + settings.port() + ": " + e, e);
        }
    }

    /** Filters stand in the order in which they are added. */
    private static void register(
            ServletContext context,
            Protection protection,
            Payments payments,
            Refunds refunds,
            LedgerResource ledger,
            HealthResource health) {
        EnumSet<DispatcherType> requests = EnumSet.of(DispatcherType.REQUEST);
        context.addFilter("merchants", new MerchantFilter())
                .addMappingForUrlPatterns(requests, true, "/payments/*", "/refunds/*", "/ledger/*");
        Idempotency engine = protection.engine();
        if (engine != null) {
            context.addFilter("idempotency", new IdempotencyFilter(engine))
                    .addMappingForUrlPatterns(requests, true, "/payments/*");
        }
        context.addServlet("payments", new Endpoint(new PaymentsResource(payments)))
                .addMapping("/payments/*");
        // Protected by its annotation, and by the same engine: no filter stands before it.
        context.addServlet("refunds", RefundsServlet.of(engine, refunds)).addMapping("/refunds/*");
        context.addServlet("ledger", new Endpoint(ledger)).addMapping("/ledger/*");
        context.addServlet("health", new Endpoint(health)).addMapping("/health");
        context.addServlet("nothing", new Endpoint((request, response) -> {
                    throw ApiProblem.notFound();
                }))
                .addMapping("/");
    }

    /** Before anything else is started: the likeliest mistake, told at once and in words. */
    private static void requireFree(int port) throws StartupException {
        try {
            new ServerSocket(port).close();
        } catch (IOException e) {
            throw new StartupException("PORT " + port + " can't be listened on: " + e.getMessage(), e);
        }
    }

    /** Warnings only, in one line each, unless the JVM was started with a configuration of its own. */
    static void configureLogging() throws IOException {
        if (System.getProperty("java.util.logging.config.file") == null) {
            try (InputStream configuration = PaymentsApi.class.getResourceAsStream("logging.properties")) {
                LogManager.getLogManager().readConfiguration(configuration);
            }
        }
    }

    /** The port that is listened on. */
    int port() {
        return http.port();
    }

    /** How many of the pool's connections are in use, out of {@link #POOL_SIZE}. */
    int connectionsInUse() {
        return pool.getHikariPoolMXBean().getActiveConnections();
    }

    private String greeting() {
        String address = "http://localhost:" + port();
        return """
                payments-api is ready at %s
                Pay, and repeat yourself:
                curl -i %s/payments -H 'Authorization: Bearer sk_demo_alice' -H 'Idempotency-Key: %s' \
                -H 'Content-Type: application/json' \
                -d '{"amount": 1250, "currency": "EUR", "source": "tok_visa", "reference": "order-1001"}'
                """.formatted(address, address, UUID.randomUUID());
    }

    /** Lets the requests that are running end, within bounds, and stops all parts. */
    @Override
    public void close() {
        resources.close();
    }
}
