// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.util.Objects.requireNonNull;

import jakarta.servlet.DispatcherType;
import jakarta.servlet.Filter;
import jakarta.servlet.FilterRegistration;
import jakarta.servlet.MultipartConfigElement;
import jakarta.servlet.ServletContext;
import jakarta.servlet.ServletRegistration;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A web application to be tested: filters in their order, servlets, error pages. */
final class WebApp {

    private final List<Consumer<ServletContext>> registrations = new ArrayList<>();
    private final Map<Integer, String> statusPages = new LinkedHashMap<>();
    private final Map<Class<? extends Throwable>, String> exceptionPages = new LinkedHashMap<>();
    private int names;
    private @Nullable Executor executor;

    /** What a servlet does. */
    @FunctionalInterface
    interface Handler {
        void handle(HttpServletRequest request, HttpServletResponse response) throws Exception;
    }

    WebApp filter(String pattern, Filter filter, DispatcherType... types) {
        String name = "filter" + names++;
        registrations.add(context -> map(context.addFilter(name, filter), pattern, types));
        return this;
    }

    /** As a container makes one from a {@code web.xml}. */
    WebApp filter(String name, Class<? extends Filter> type, Map<String, String> initParameters) {
        registrations.add(context -> {
            FilterRegistration.Dynamic registration = context.addFilter(name, type);
            registration.setInitParameters(initParameters);
            map(registration, "/*");
        });
        return this;
    }

    private static void map(FilterRegistration.Dynamic registration, String pattern, DispatcherType... types) {
        requireNonNull(registration).setAsyncSupported(true);
        EnumSet<DispatcherType> dispatches = EnumSet.of(DispatcherType.REQUEST);
        if (types.length > 0) {
            dispatches = EnumSet.copyOf(List.of(types));
        }
        registration.addMappingForUrlPatterns(dispatches, true, pattern);
    }

    WebApp servlet(String pattern, Handler handler) {
        String name = "servlet" + names++;
        registrations.add(context -> map(context.addServlet(name, new HandlerServlet(handler)), pattern));
        return this;
    }

    WebApp multipartServlet(String pattern, MultipartConfigElement config, Handler handler) {
        String name = "servlet" + names++;
        registrations.add(context -> {
            ServletRegistration.Dynamic registration = context.addServlet(name, new HandlerServlet(handler));
            registration.setMultipartConfig(config);
            map(registration, pattern);
        });
        return this;
    }

    private static void map(ServletRegistration.Dynamic registration, String pattern) {
        requireNonNull(registration).setAsyncSupported(true);
        registration.addMapping(pattern);
    }

    WebApp with(Consumer<ServletContext> setup) {
        registrations.add(setup);
        return this;
    }

    WebApp errorPage(int status, String location) {
        statusPages.put(status, location);
        return this;
    }

    WebApp errorPage(Class<? extends Throwable> exception, String location) {
        exceptionPages.put(exception, location);
        return this;
    }

    /** What its requests run on, in place of the container's own threads. */
    WebApp executor(Executor threads) {
        executor = threads;
        return this;
    }

    // For the containers

    @Nullable
    Executor executor() {
        return executor;
    }

    void register(ServletContext context) {
        registrations.forEach(registration -> registration.accept(context));
    }

    Map<Integer, String> statusPages() {
        return statusPages;
    }

    Map<Class<? extends Throwable>, String> exceptionPages() {
        return exceptionPages;
    }

    private static final class HandlerServlet extends HttpServlet {

        private static final long serialVersionUID = 1L;

        private final transient Handler handler;

        HandlerServlet(Handler handler) {
            this.handler = handler;
        }

        @Override
        protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
            try {
                handler.handle(request, response);
            } catch (IOException | RuntimeException e) {
                throw e;
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
