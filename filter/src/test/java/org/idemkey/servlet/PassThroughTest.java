// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import jakarta.servlet.FilterChain;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Line 17: a request that is none of ours costs nothing. */
class PassThroughTest extends ServletTest {

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    @Test
    void anUnprotectedRequestAllocatesNothingAndAsksNoStore() throws Exception {
        IdempotencyFilter filter = filter();
        AtomicLong before = new AtomicLong();
        AtomicLong least = new AtomicLong(Long.MAX_VALUE);
        serve(
                new WebApp().filter("/*", (request, response, chain) -> {
                    FilterChain inner = (innerRequest, innerResponse) -> {
                        long allocated = THREADS.getCurrentThreadAllocatedBytes() - before.get();
                        least.accumulateAndGet(allocated, Math::min);
                        assertThat(innerRequest).isSameAs(request);
                        assertThat(innerResponse).isSameAs(response);
                        chain.doFilter(innerRequest, innerResponse);
                    };
                    // A container may make the string when it is first asked for; that is its own affair.
                    assertThat(((HttpServletRequest) request).getMethod()).isEqualTo("GET");
                    before.set(THREADS.getCurrentThreadAllocatedBytes());
                    filter.doFilter(request, response, inner);
                }),
                (request, response) -> response.getWriter().print("ran"));
        // The first calls load classes; what counts is that a call can do without.
        for (int i = 0; i < 20; i++) {
            assertThat(send("GET", "/handler", newKey(), "text/plain", new byte[0])
                            .text())
                    .isEqualTo("ran");
        }
        assertThat(least).hasValue(0);
        assertThat(executions).hasValue(20);
        assertThat(store.calls()).isZero();
    }

    @Test
    void everyUnprotectedMethodPasses() throws Exception {
        serve((request, response) -> response.setHeader("X-Ran", request.getMethod()));
        for (String method : new String[] {"GET", "HEAD", "OPTIONS", "PUT", "DELETE"}) {
            assertThat(method(method).headers("X-Ran")).containsExactly(method);
        }
        assertThat(store.calls()).isZero();
    }

    private RawResponse method(String method) throws IOException {
        return send(method, "/handler", newKey(), "text/plain", new byte[0]);
    }
}
