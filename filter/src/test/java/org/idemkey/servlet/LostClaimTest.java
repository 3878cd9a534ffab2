// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static org.assertj.core.api.Assertions.assertThat;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.http.Cookie;
import jakarta.servlet.http.HttpServletResponse;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.Idempotency;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore;
import org.idemkey.InMemoryIdempotencyStore;
import org.idemkey.Lease;
import org.idemkey.Problem;
import org.idemkey.StoredResponse;
import org.idemkey.Terms;
import org.junit.jupiter.api.Test;

/**
 * Recorded, then sent: a store that has lost every claim by the time of its completion gets another answer sent, and if
 * a single byte or header of the handler's had left before it was asked, the client would have it.
 */
class LostClaimTest extends ServletTest {

    private static final class LosingStore implements IdempotencyStore {

        private final InMemoryIdempotencyStore store = new InMemoryIdempotencyStore();

        @Override
        public Completion complete(Lease lease, StoredResponse response) {
            return Completion.LOST;
        }

        @Override
        public Claim claim(IdempotencyKey key, Fingerprint fingerprint, Terms terms) {
            return store.claim(key, fingerprint, terms);
        }

        @Override
        public Claim takeOver(Lease stale, Fingerprint fingerprint, Terms terms) {
            return store.takeOver(stale, fingerprint, terms);
        }

        @Override
        public boolean release(Lease lease) {
            return store.release(lease);
        }

        @Override
        public int purgeExpired(int limit) {
            return store.purgeExpired(limit);
        }
    }

    private void assertReplaced(WebApp.Handler handler) throws Exception {
        Idempotency engine =
                Idempotency.builder(new LosingStore()).maxResponseBytes(20_000).build();
        serve(
                new WebApp()
                        .filter("/*", (request, response, chain) -> {
                            ((HttpServletResponse) response).setHeader("X-Outer", "1");
                            ((HttpServletResponse) response).addHeader("Vary", "Origin");
                            chain.doFilter(request, response);
                        })
                        .filter("/*", new IdempotencyFilter(engine), DispatcherType.REQUEST, DispatcherType.ASYNC),
                handler);
        RawResponse answer = post(newKey());
        assertProblem(answer, Problem.IN_PROGRESS);
        assertThat(answer.framed()).isTrue();
        assertThat(answer.text()).startsWith("{").endsWith("}");
        assertThat(answer.headers("X-Handler")).isEmpty();
        assertThat(answer.headers("Set-Cookie")).isEmpty();
        assertThat(answer.headers("X-Outer")).containsExactly("1");
        assertThat(answer.headers("Vary")).containsExactly("Origin");
        assertThat(answer.headers("Content-Type")).hasSize(1);
    }

    @Test
    void noAnswerLeavesBeforeItIsRecorded() throws Exception {
        assertReplaced((request, response) -> {
            response.setStatus(201);
            response.setHeader("X-Handler", "1");
            response.addHeader("Vary", "Accept");
            response.addCookie(new Cookie("never", "sent"));
            response.setContentType("text/plain;charset=UTF-8");
            response.getWriter().print("never sent");
        });
    }

    @Test
    void noFlushLeavesBeforeItIsRecorded() throws Exception {
        assertReplaced((request, response) -> {
            response.setHeader("X-Handler", "1");
            response.getOutputStream().write(new byte[10_000]);
            response.flushBuffer();
            response.getOutputStream().close();
        });
    }

    @Test
    void noStreamLeavesBeforeItsTombstoneIsRecorded() throws Exception {
        assertReplaced((request, response) -> {
            response.setHeader("X-Handler", "1");
            for (int i = 0; i < 30; i++) {
                response.getOutputStream().write(new byte[1000]);
                response.flushBuffer();
            }
        });
    }

    @Test
    void noEventLeavesBeforeItsTombstoneIsRecorded() throws Exception {
        assertReplaced((request, response) -> {
            response.setHeader("X-Handler", "1");
            response.setContentType("text/event-stream");
            response.getWriter().print("data: 1\n\n");
            response.flushBuffer();
            response.getWriter().print("data: 2\n\n");
        });
    }

    @Test
    void noErrorAndNoRedirectLeavesBeforeItIsRecorded() throws Exception {
        assertReplaced((request, response) -> {
            response.setHeader("X-Handler", "1");
            response.sendError(404, "never sent");
        });
        assertReplaced((request, response) -> {
            response.setHeader("X-Handler", "1");
            response.sendRedirect("/never");
        });
    }

    @Test
    void noAsynchronousAnswerLeavesBeforeItIsRecorded() throws Exception {
        assertReplaced((request, response) -> {
            response.setHeader("X-Handler", "1");
            AsyncContext async = request.startAsync();
            async.start(() -> {
                response.setStatus(201);
                async.complete();
            });
        });
    }

    @Test
    void noDispatchedAnswerLeavesBeforeItIsRecorded() throws Exception {
        assertReplaced((request, response) -> {
            if (request.getDispatcherType() == DispatcherType.REQUEST) {
                request.startAsync().dispatch();
            } else {
                response.setHeader("X-Handler", "1");
                response.getWriter().print("never sent");
            }
        });
    }
}
