// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.FilterRegistration;
import jakarta.servlet.ServletContext;
import jakarta.servlet.ServletContextEvent;
import jakarta.servlet.ServletContextListener;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRegistration;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.BufferedInputStream;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.catalina.Context;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.core.StandardContext;
import org.apache.catalina.startup.Tomcat;
import org.apache.catalina.webresources.DirResourceSet;
import org.apache.catalina.webresources.JarResourceSet;
import org.apache.catalina.webresources.StandardRoot;
import org.idemkey.Idempotency;
import org.idemkey.IdempotencyStore;
import org.idemkey.InMemoryIdempotencyStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Line 57: an application that is undeployed leaves no thread and no thread-local behind. It has Idemkey in its own
 * class loader, as a {@code WEB-INF/lib} has it, and Tomcat itself judges: it looks through all threads for anything of
 * that loader's, and says in its log what it finds.
 */
class UndeployTest {

    private static final Logger JUDGE = Logger.getLogger("org.apache.catalina.loader.WebappClassLoaderBase");

    private final List<String> found = new CopyOnWriteArrayList<>();
    private final Tomcat tomcat = new Tomcat();
    private final Handler listener = new Handler() {
        @Override
        public void publish(LogRecord line) {
            found.add(line.getMessage());
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    };

    @TempDir
    private Path directory;

    private Level level;

    @BeforeEach
    void listen() throws Exception {
        level = JUDGE.getLevel();
        JUDGE.setLevel(Level.WARNING);
        JUDGE.setUseParentHandlers(false);
        JUDGE.addHandler(listener);
        tomcat.setBaseDir(directory.toString());
        tomcat.setSilent(true);
        Connector connector = new Connector();
        connector.setPort(0);
        connector.setProperty("address", "127.0.0.1");
        tomcat.setConnector(connector);
        tomcat.start();
    }

    @AfterEach
    void stop() throws Exception {
        tomcat.stop();
        tomcat.destroy();
        JUDGE.removeHandler(listener);
        JUDGE.setUseParentHandlers(true);
        JUDGE.setLevel(level);
        threads().stream()
                .filter(thread -> thread.getName().equals("left-behind"))
                .forEach(Thread::interrupt);
    }

    private Context deploy() throws IOException {
        StandardContext context = new StandardContext();
        context.setName("");
        context.setPath("");
        context.setDocBase(Files.createDirectories(directory.resolve("app")).toString());
        context.addLifecycleListener(new Tomcat.FixContextListener());
        StandardRoot resources = new StandardRoot(context);
        // All that the application is made of, so that nothing of it comes from the container's loader.
        Set<String> places = Stream.of(IdempotencyFilter.class, IdempotencyStore.class, UndeployTest.class)
                .map(part ->
                        part.getProtectionDomain().getCodeSource().getLocation().getPath())
                .collect(Collectors.toSet());
        for (String place : places) {
            String classes = "/WEB-INF/classes";
            // A build that packages has jars for the other modules.
            resources.addPreResources(
                    place.endsWith(".jar")
                            ? new JarResourceSet(resources, classes, place, "/")
                            : new DirResourceSet(resources, classes, new File(place).getPath(), "/"));
        }
        context.setResources(resources);
        // What these look for has nothing to do with threads, and would ask for more of the JVM.
        context.setClearReferencesObjectStreamClassCaches(false);
        context.setClearReferencesRmiTargets(false);
        context.addApplicationListener(App.class.getName());
        tomcat.getHost().addChild(context);
        return context;
    }

    private RawResponse post(String key, String target) throws IOException {
        try (Socket socket = new Socket(
                InetAddress.getLoopbackAddress(), tomcat.getConnector().getLocalPort())) {
            String body = "x".repeat(100_000);
            socket.getOutputStream()
                    .write(("POST " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                                    + "Content-Type: text/plain\r\nContent-Length: " + body.length()
                                    + "\r\nIdempotency-Key: " + key + "\r\n\r\n" + body)
                            .getBytes(ISO_8859_1));
            return RawResponse.read(new BufferedInputStream(socket.getInputStream()));
        }
    }

    private static Set<Thread> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(Thread::isAlive)
                .collect(Collectors.toSet());
    }

    /** Each way through the filter, on threads of the container's that live on. */
    private void serve() throws IOException {
        for (String target : List.of("/ran", "/error", "/thrown", "/long", "/async", "/dispatch", "/forward")) {
            String key = UUID.randomUUID().toString();
            RawResponse first = post(key, target);
            RawResponse again = post(key, target);
            assertThat(first.status()).as(target).isNotEqualTo(409);
            assertThat(again.status()).as(target).isEqualTo(target.equals("/long") ? 409 : first.status());
        }
        assertThat(post("", "/ran").status()).isEqualTo(400);
    }

    @Test
    void nothingIsLeftOfAnApplicationThatIsUndeployed() throws Exception {
        Context app = deploy();
        ClassLoader loader = app.getLoader().getClassLoader();
        assertThat(loader.loadClass(IdempotencyFilter.class.getName())).isNotSameAs(IdempotencyFilter.class);
        Set<Thread> before = threads();
        serve();
        tomcat.getHost().removeChild(app);
        assertThat(found).isEmpty();
        assertThat(threads())
                .filteredOn(thread -> !before.contains(thread))
                .noneMatch(thread -> thread.getContextClassLoader() == loader
                        || thread.getClass().getClassLoader() == loader
                        || thread.getName().startsWith("idemkey"));
    }

    /** The judge can see: without this an empty log would prove nothing. */
    @Test
    void whatAnApplicationLeavesIsFound() throws Exception {
        Context app = deploy();
        assertThat(post(UUID.randomUUID().toString(), "/leaky").text()).isEqualTo("left");
        tomcat.getHost().removeChild(app);
        assertThat(found).anyMatch(line -> line.contains("ThreadLocal")).anyMatch(line -> line.contains("left-behind"));
    }

    /** The application: loaded by its own loader, and started by the container. */
    public static final class App implements ServletContextListener {

        @Override
        public void contextInitialized(ServletContextEvent event) {
            ServletContext context = event.getServletContext();
            Idempotency engine = Idempotency.builder(new InMemoryIdempotencyStore())
                    .maxResponseBytes(10_000)
                    .build();
            FilterRegistration.Dynamic filter = context.addFilter("filter", new IdempotencyFilter(engine));
            filter.setAsyncSupported(true);
            filter.addMappingForUrlPatterns(EnumSet.of(DispatcherType.REQUEST, DispatcherType.ASYNC), false, "/*");
            ServletRegistration.Dynamic servlet = context.addServlet("servlet", new AppServlet());
            servlet.setAsyncSupported(true);
            servlet.addMapping("/*");
        }
    }

    private static final class AppServlet extends HttpServlet {

        private static final long serialVersionUID = 1L;
        private static final ThreadLocal<List<Object>> LEFT = new ThreadLocal<>();

        @Override
        protected void service(HttpServletRequest request, HttpServletResponse response)
                throws ServletException, IOException {
            request.getInputStream().readAllBytes();
            boolean again = request.getDispatcherType() != DispatcherType.REQUEST;
            switch (again ? "/ran" : request.getPathInfo()) {
                case "/error" -> response.sendError(404, "not here");
                case "/thrown" -> throw new IllegalStateException("wanted");
                case "/long" -> response.getOutputStream().write(new byte[100_000]);
                case "/async" -> {
                    AsyncContext async = request.startAsync();
                    async.start(() -> {
                        ((HttpServletResponse) async.getResponse()).setStatus(202);
                        async.complete();
                    });
                }
                case "/dispatch" -> request.startAsync().dispatch();
                case "/forward" -> request.getRequestDispatcher("/ran").forward(request, response);
                case "/leaky" -> {
                    LEFT.set(new ArrayList<>(List.of(this)));
                    Thread thread = new Thread(AppServlet::waitForEver, "left-behind");
                    thread.setDaemon(true);
                    thread.start();
                    response.getWriter().print("left");
                }
                default -> response.getWriter().print("ran");
            }
        }

        private static void waitForEver() {
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException e) {
                // The test is over.
            }
        }
    }
}
