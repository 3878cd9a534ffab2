// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.scenarios;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import jakarta.ws.rs.core.Application;
import java.net.http.HttpRequest;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import org.awaitility.Awaitility;
import org.idemkey.Idempotency;
import org.idemkey.jaxrs.scenarios.Client.Answer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.TestInstance;

/** A runtime with applications, started once for all scenarios: these never share a key. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class RuntimeUnderTest {

    /** Outlasts the slowest machine: the store in memory renews none. */
    static final Duration LEASE = Duration.ofHours(1);

    final Ledger ledger = new Ledger();
    final ScriptedStore store = new ScriptedStore(false);
    private final List<RestServer> servers = new ArrayList<>();
    private @Nullable Client client;

    /**
     * Starts the runtime with an application.
     *
     * @throws Exception if it doesn't start
     */
    protected abstract RestServer start(Application application) throws Exception;

    /** In what the runtime differs from the others; nothing, unless its wiring says so. */
    protected Set<Difference> differences() {
        return EnumSet.noneOf(Difference.class);
    }

    /** What it does instead has a scenario of its own. */
    final void assumeAsynchronous() {
        assumeFalse(differsIn(Difference.NOTHING_ASYNCHRONOUS), "this runtime's server answers on its own thread only");
    }

    final void assumeAsynchronousFor(String path) {
        if (path.startsWith("async/")) {
            assumeAsynchronous();
        }
    }

    final boolean differsIn(Difference difference) {
        return differences().contains(difference);
    }

    /** An exception that nobody maps has been answered: its claim has ended too, or is about to. */
    final void awaitEnd(ScriptedStore store, String key) {
        awaitEnd(store, key, Difference.UNMAPPED_ANSWERED_FIRST);
    }

    final void awaitEnd(ScriptedStore store, String key, Difference answeredFirst) {
        if (differsIn(answeredFirst)) {
            eventually(() -> store.ended.contains(key));
        }
        assertThat(store.ended).containsOnlyOnce(key);
    }

    static Idempotency engine(ScriptedStore store) {
        return Idempotency.builder(store).lease(LEASE).build();
    }

    /** A client of the application over the store that shares no transaction. */
    final Client client() throws Exception {
        Client started = client;
        if (started == null) {
            started = serve(new BenchApplication(engine(store), ledger));
            client = started;
        }
        return started;
    }

    final Client serve(Application application) throws Exception {
        return clientOf(start(application));
    }

    final Client clientOf(RestServer server) {
        servers.add(server);
        return new Client(server.base());
    }

    final void awaitReturns() {
        servers.forEach(RestServer::awaitReturns);
    }

    @AfterAll
    final void stop() {
        servers.forEach(RestServer::close);
    }

    final HttpRequest json(String path, String key, String body) throws Exception {
        return client().post(path, key, "application/json", body.getBytes(StandardCharsets.UTF_8));
    }

    static void eventually(Callable<Boolean> condition) {
        Awaitility.await().atMost(Duration.ofMinutes(1)).until(condition);
    }

    /** The same answer, byte by byte, and marked. */
    static void assertReplay(Answer first, Answer again) {
        assertThat(first.isReplay()).as("first: %s", first).isFalse();
        assertThat(again.isReplay()).as("again: %s", again).isTrue();
        assertThat(again.status()).isEqualTo(first.status());
        for (String field : new String[] {"Content-Type", "Content-Encoding", "Location"}) {
            assertThat(again.fields(field)).as(field).isEqualTo(first.fields(field));
        }
        assertThat(again.body()).isEqualTo(first.body());
    }
}
