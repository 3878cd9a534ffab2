// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static org.assertj.core.api.Assertions.assertThat;

import jakarta.servlet.RequestDispatcher;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.idemkey.Problem;
import org.idemkey.ResponsePolicy;
import org.junit.jupiter.api.Test;

/**
 * Random handlers, sequences of response calls in any legal and illegal order, behind the filter and without it: the
 * client gets the same status, headers and bytes, the handler sees the same on its way, and a replay is the same again.
 *
 * <p>{@code idemkey.fuzz.handlers} says how many, {@code idemkey.fuzz.seed} and {@code idemkey.fuzz.first} where they
 * begin. A handler that is told of by its number is {@code first}, with {@code handlers} of 1.
 */
class FuzzTest extends ServletTest {

    private static final long SEED = Long.getLong("idemkey.fuzz.seed", 20_260_101L);
    private static final int FIRST = Integer.getInteger("idemkey.fuzz.first", 0);
    private static final int HANDLERS = Integer.getInteger("idemkey.fuzz.handlers", 5_000);
    private static final int MOST_DIFFERENCES = Integer.getInteger("idemkey.fuzz.differences", 5);
    private static final int CLIENTS = 6;

    /** Where Tomcat says of each exception that it has met it. */
    private static final Logger EXCEPTIONS =
            Logger.getLogger("org.apache.catalina.core.ContainerBase.[Tomcat].[localhost].[/]");

    private static final ResponsePolicy KEEP_ALL = new ResponsePolicy() {
        @Override
        public boolean keepsStatus(int status) {
            return true;
        }

        @Override
        public boolean keepsException() {
            return true;
        }
    };

    private final ConcurrentHashMap<String, FuzzRun> runs = new ConcurrentHashMap<>();

    @Test
    void randomHandlersAreAnsweredAsWithoutTheFilter() throws Exception {
        System.out.println("fuzz: seed " + SEED + ", handlers " + FIRST + " to " + (FIRST + HANDLERS - 1));
        Level before = EXCEPTIONS.getLevel();
        ExecutorService workers = Executors.newCachedThreadPool();
        ExecutorService clients = Executors.newFixedThreadPool(CLIENTS);
        try {
            serveBoth(workers);
            EXCEPTIONS.setLevel(Level.OFF);
            Map<Integer, String> differences = new ConcurrentSkipListMap<>();
            AtomicInteger next = new AtomicInteger(FIRST);
            Callable<Void> client = () -> {
                try (FuzzClient each = new FuzzClient(runs, this::connect)) {
                    for (int i = next.getAndIncrement();
                            i < FIRST + HANDLERS && differences.size() < MOST_DIFFERENCES;
                            i = next.getAndIncrement()) {
                        compare(each, i)
                                .ifPresent(difference -> differences.put(difference.handler(), difference.text()));
                    }
                }
                return null;
            };
            List<Callable<Void>> all = new ArrayList<>();
            for (int i = 0; i < CLIENTS; i++) {
                all.add(client);
            }
            for (Future<Void> done : clients.invokeAll(all)) {
                done.get();
            }
            assertThat(differences.values()).isEmpty();
        } finally {
            clients.shutdownNow();
            workers.shutdownNow();
            EXCEPTIONS.setLevel(before);
        }
    }

    private void serveBoth(ExecutorService workers) throws Exception {
        IdempotencyFilter filter = new IdempotencyFilter(settings()
                .responsePolicy(KEEP_ALL)
                .maxResponseBytes(FuzzAnswers.LIMIT)
                .build());
        WebApp.Handler handler = (request, response) ->
                runs.get(request.getHeader(FuzzClient.RUN)).handle(request, response, workers);
        WebApp app = new WebApp()
                .filter("/filtered/*", filter)
                .servlet("/filtered/*", handler)
                .servlet("/plain/*", handler)
                .servlet(
                        "/target",
                        (request, response) ->
                                runs.get(request.getHeader(FuzzClient.RUN)).dispatched(request, response))
                .servlet("/error", FuzzTest::errorPage);
        for (int status : FuzzProgram.ERRORS) {
            app.errorPage(status, "/error");
        }
        start(app);
    }

    private static void errorPage(HttpServletRequest request, HttpServletResponse response) throws IOException {
        response.setHeader(FuzzAnswers.ERROR_PAGE, "1");
        boolean thrown = request.getAttribute(RequestDispatcher.ERROR_EXCEPTION) != null;
        Object message = thrown ? null : request.getAttribute(RequestDispatcher.ERROR_MESSAGE);
        String told = message == null ? "" : " " + message;
        String text = request.getAttribute(RequestDispatcher.ERROR_STATUS_CODE) + told.stripTrailing();
        try {
            response.getWriter().print(text);
        } catch (IllegalStateException e) {
            response.getOutputStream().print(text);
        }
    }

    // The comparison

    private record Difference(int handler, String text) {}

    private static Optional<Difference> compare(FuzzClient client, int handler) throws Exception {
        FuzzProgram program = FuzzProgram.random(SEED * 31 + handler * 0x9E3779B97F4A7C15L);
        Optional<String> difference = difference(client, program);
        if (difference.isEmpty()) {
            return Optional.empty();
        }
        FuzzProgram least = program.shrunk(less -> {
            try {
                return difference(client, less).isPresent();
            } catch (IOException | InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        String shown = difference(client, least).orElse("seen once: " + difference.get());
        return Optional.of(
                new Difference(handler, "seed %d, handler %d%n%s%n%s%n".formatted(SEED, handler, least, shown)));
    }

    private static Optional<String> difference(FuzzClient client, FuzzProgram program)
            throws IOException, InterruptedException {
        String key = newKey();
        FuzzClient.Answer plain = client.post("/plain/x", key, program);
        FuzzClient.Answer first = client.post("/filtered/x", key, program);
        FuzzClient.Answer again = client.post("/filtered/x", key, program);
        if (!sawTheSame(plain.run(), first.run())) {
            return Optional.of("seen by the handler:\n" + plain.run().seen() + "\n"
                    + first.run().seen());
        }
        FuzzAnswers answers = new FuzzAnswers(first);
        if (!answers.isAnotherEnd()) {
            String wanted = answers.firstAnswer(plain.response());
            String given = answers.firstAnswer(first.response());
            if (!wanted.equals(given)) {
                return Optional.of("first answer:\n" + wanted + "\n--\n" + given);
            }
        }
        if (!again.response().isReplay() && answers.isStreamed() && isTombstone(again.response())) {
            return Optional.empty();
        }
        String kept = answers.replay(first.response());
        String replayed = answers.replay(again.response());
        if (!again.response().isReplay() || again.run().hasEntered()) {
            return Optional.of("no replay:\n" + kept + "\n--\n" + replayed);
        }
        return kept.equals(replayed) ? Optional.empty() : Optional.of("replay:\n" + kept + "\n--\n" + replayed);
    }

    /** Where an output is asked for after the end, Tomcat may refuse it and we may not; never the other way round. */
    private static boolean sawTheSame(FuzzRun plain, FuzzRun first) {
        if (plain.seen().size() != first.seen().size()) {
            return false;
        }
        for (int i = 0; i < plain.seen().size(); i++) {
            String wanted = plain.seen().get(i);
            String seen = first.seen().get(i);
            boolean ignored = first.isOutputAfterEnd(i) && wanted.endsWith("-> thrown") && seen.endsWith("-> done");
            if (!seen.equals(wanted) && !ignored) {
                return false;
            }
        }
        return true;
    }

    private static boolean isTombstone(RawResponse response) {
        return response.status() == 409
                && response.text()
                        .contains(Problem.RESPONSE_NOT_REPLAYABLE.type().toString());
    }
}
