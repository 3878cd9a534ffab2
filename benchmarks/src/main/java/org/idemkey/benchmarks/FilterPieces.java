// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.OutputStream;
import java.util.concurrent.TimeUnit;
import org.idemkey.Idempotency;
import org.idemkey.servlet.IdempotencyFilter;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/** What the filter costs by itself, without a container and with a store that costs nothing. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class FilterPieces {

    /** A request that the filter has nothing to do with. */
    @Benchmark
    public void passThrough(Unprotected it) throws IOException, ServletException {
        it.filter.doFilter(it.request, it.response, it.chain);
    }

    /** A protected request with a small body: the answer is held back, recorded by a store that keeps nothing, sent. */
    @Benchmark
    public long responseCapture(Protected it) throws IOException, ServletException {
        StubResponse response = new StubResponse();
        it.filter.doFilter(it.request(), response, it.chain);
        return response.sent();
    }

    /** For {@link #passThrough}. */
    @State(Scope.Benchmark)
    public static class Unprotected {

        private final Filter filter = new IdempotencyFilter(Idempotency.of(new EnginePieces.FreeStore()));
        private final StubRequest request = new StubRequest("PUT", new byte[0]);
        private final StubResponse response = new StubResponse();
        private final FilterChain chain = (request, response) -> {};
    }

    /** For {@link #responseCapture}: the handler writes so many bytes, in pieces as frameworks do. */
    @State(Scope.Benchmark)
    public static class Protected {

        private static final byte[] PIECE = new byte[8192];

        /** The response body's length in bytes. */
        @Param({"200", "65536", "1048576"})
        public int bytes = 200;

        private final Filter filter = new IdempotencyFilter(Idempotency.of(new EnginePieces.FreeStore()));
        private final byte[] body = new byte[200];
        private final FilterChain chain = (request, response) -> {
            ((HttpServletResponse) response).setStatus(201);
            response.setContentType("application/json");
            ((HttpServletResponse) response).setHeader("Location", "/payments/1");
            OutputStream out = response.getOutputStream();
            for (int left = bytes; left > 0; left -= PIECE.length) {
                out.write(PIECE, 0, Math.min(left, PIECE.length));
            }
        };

        private StubRequest request() {
            return new StubRequest("POST", body);
        }
    }
}
