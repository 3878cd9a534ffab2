// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import jakarta.servlet.ServletContext;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.catalina.Context;
import org.apache.catalina.LifecycleException;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.core.StandardHost;
import org.apache.catalina.startup.Tomcat;

/** An embedded Tomcat with one web application: no sessions, no pages, no files. */
final class HttpServer implements AutoCloseable {

    private static final int MAX_THREADS = 200;

    /** How long requests may take to end once the server has been told to stop. */
    private static final Duration STOP_PATIENCE = Duration.ofSeconds(20);

    private final Tomcat tomcat = new Tomcat();
    private final Connector connector = new Connector();
    private final ThreadPoolExecutor workers;
    private final Path scratch;

    /** Registers an application's servlets and filters; called once, while the server starts. */
    @FunctionalInterface
    interface Application {
        void register(ServletContext context);
    }

    /**
     * A server that is not started yet.
     *
     * @param port 0 for any free one
     */
    HttpServer(int port, Application application) throws IOException {
        AtomicInteger number = new AtomicInteger();
        // Ours, not the connector's: the connector would interrupt it on stopping, in the middle of requests.
        workers = new ThreadPoolExecutor(
                MAX_THREADS, MAX_THREADS, 60, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), task -> {
                    Thread thread = new Thread(task, "http-" + number.incrementAndGet());
                    thread.setDaemon(true);
                    return thread;
                });
        workers.allowCoreThreadTimeOut(true);
        // Tomcat wants a directory, though nothing here writes into it.
        scratch = Files.createTempDirectory("payments-api-");
        tomcat.setBaseDir(scratch.toString());
        connector.setPort(port);
        connector.setThrowOnFailure(true);
        // Bound by start(), and so unbound as soon as the server stops accepting.
        connector.setProperty("bindOnInit", "false");
        connector.getProtocolHandler().setExecutor(workers);
        tomcat.setConnector(connector);
        ((StandardHost) tomcat.getHost()).setErrorReportValveClass(ProblemReportValve.class.getName());
        Context context = tomcat.addContext("", null);
        context.setCookies(false);
        context.addServletContainerInitializer((classes, registry) -> application.register(registry), null);
    }

    /** Starts to accept requests. */
    void start() throws LifecycleException {
        tomcat.start();
    }

    /** The port that is listened on. */
    int port() {
        return connector.getLocalPort();
    }

    /** Stops accepting requests, lets those that run end within {@link #STOP_PATIENCE}, and stops. */
    @Override
    public void close() throws LifecycleException, IOException {
        connector.pause();
        connector.getProtocolHandler().closeServerSocketGraceful();
        workers.shutdown();
        try {
            workers.awaitTermination(STOP_PATIENCE.toSeconds(), TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        workers.shutdownNow();
        try {
            tomcat.stop();
            tomcat.destroy();
        } finally {
            Directories.delete(scratch);
        }
    }
}
