// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.scenarios;

import static org.assertj.core.api.Assertions.assertThat;
import static org.idemkey.jaxrs.scenarios.Client.newKey;

import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpFilter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.ws.rs.core.Application;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.idemkey.jaxrs.scenarios.Client.Answer;
import org.idemkey.servlet.IdempotencyFilter;
import org.junit.jupiter.api.Test;

/** What can be different where the runtime is a servlet. */
public abstract class ServletScenarios extends JaxRsScenarios {

    private static final String FORM = "application/x-www-form-urlencoded";

    /**
     * Starts the runtime with an application, behind filters.
     *
     * @throws Exception if it doesn't start
     */
    protected abstract RestServer start(Application application, List<Filter> filters) throws Exception;

    @Override
    protected final RestServer start(Application application) throws Exception {
        return start(application, List.of());
    }

    private Client behind(ScriptedStore store, Filter filter) throws Exception {
        return clientOf(start(new BenchApplication(engine(store), ledger), List.of(filter)));
    }

    @Test
    void filterAndFeatureOnOnePathMakeOneClaimAndOneRecord() throws Exception {
        ScriptedStore both = new ScriptedStore(false);
        Client client = behind(both, new IdempotencyFilter(engine(both)));
        for (String how : List.of("bench/created", "bench/nothing", "bench/zipped", "async/suspended/at-once")) {
            String key = newKey();
            Answer first = client.post(how, key);
            Answer again = client.post(how, key);
            assertReplay(first, again);
            assertThat(again.fields("Content-Encoding")).isEqualTo(first.fields("Content-Encoding"));
            assertThat(both.claims).filteredOn(key::equals).hasSize(2);
            assertThat(both.completions).containsOnlyOnce(key);
            assertThat(ledger.executions(key)).isEqualTo(1);
        }
        assertThat(client.post("bench/context", newKey()).status()).isEqualTo(200);
    }

    /** One table, one notion of what a request is: a key goes on to be known when an application changes adapters. */
    @Test
    void whatTheFilterRecordedTheFeatureReplays() throws Exception {
        ScriptedStore shared = new ScriptedStore(false);
        Client filtered = behind(shared, new IdempotencyFilter(engine(shared)));
        Client annotated = clientOf(start(new BenchApplication(engine(shared), ledger)));
        for (String path : List.of("bench/created", "bench/status/%34%30%39;v=1?x=%2F&y=a+b%20c&x=")) {
            String key = newKey();
            Answer first = filtered.post(path, key, "order", "X-Caller", "ignored by servlets");
            assertThat(annotated.post(path, key).isReplay()).isTrue();
            assertThat(annotated.post(path, key, "other order").problem()).isEqualTo("key-reused");
            assertThat(annotated.post(path, key).status()).isEqualTo(first.status());
        }
    }

    /** A filter that asks for a parameter has read the form. Where its content is lost, nothing may run. */
    @Test
    void aFormThatWasReadBeforeIsStillTheRequests() throws Exception {
        ScriptedStore read = new ScriptedStore(false);
        Client client = behind(read, new Curious());
        String key = newKey();
        byte[] form = "a=caf%C3%A9&b=1&b=2%263&c=".getBytes(StandardCharsets.US_ASCII);
        Answer first = client.send(client.post("bench/form?q=7", key, FORM, form));
        if (differsIn(Difference.READ_FORM_IS_LOST)) {
            assertThat(first.status()).isEqualTo(500);
            assertThat(ledger.executions(key)).isZero();
            assertThat(read.claims).doesNotContain(key);
            return;
        }
        assertThat(first.text()).isEqualTo("7 caf\u00e9 [1, 2&3]");
        assertReplay(first, client.send(client.post("bench/form?q=7", key, FORM, form)));
        byte[] other = "a=caf%C3%A9&b=1&b=2%263&c=1".getBytes(StandardCharsets.US_ASCII);
        assertThat(client.send(client.post("bench/form?q=7", key, FORM, other)).problem())
                .isEqualTo("key-reused");
    }

    private static final class Curious extends HttpFilter {

        private static final long serialVersionUID = 1L;

        @Override
        protected void doFilter(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
                throws IOException, ServletException {
            request.setCharacterEncoding("UTF-8");
            request.getParameter("a");
            chain.doFilter(request, response);
        }
    }
}
