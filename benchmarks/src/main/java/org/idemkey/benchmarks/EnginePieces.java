// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import java.io.IOException;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.idemkey.Claim;
import org.idemkey.Decision;
import org.idemkey.Fingerprint;
import org.idemkey.Idempotency;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore;
import org.idemkey.KeyHeader;
import org.idemkey.Lease;
import org.idemkey.ProtectedRequest;
import org.idemkey.RequestBody;
import org.idemkey.StoredResponse;
import org.idemkey.Terms;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/** What the engine costs by itself: the header's parser, and a decision, which is a fingerprint and little else. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class EnginePieces {

    private static final List<String> QUOTED = List.of("\"8e03978e-40d5-43dd-bc93-6894a57f9324\"");
    private static final List<String> BARE = List.of("8e03978e-40d5-43dd-bc93-6894a57f9324");

    /** The key header as RFC 9651 writes it. */
    @Benchmark
    public String quotedKey() {
        return KeyHeader.parse(QUOTED, false);
    }

    /** The key header as most clients write it. */
    @Benchmark
    public String bareKey() {
        return KeyHeader.parse(BARE, false);
    }

    /** From the request to the claim, with a store that costs nothing. */
    @Benchmark
    public Decision fingerprint(Requests requests) throws IOException {
        return requests.idempotency.decide(requests.request);
    }

    /** Requests of two sizes, whose bodies are in memory already. */
    @State(Scope.Benchmark)
    public static class Requests {

        /** The body's length in bytes. */
        @Param({"200", "1048576"})
        public int bytes = 200;

        private final Idempotency idempotency = Idempotency.of(new FreeStore());
        private final ProtectedRequest request = new Request();

        private final class Request implements ProtectedRequest {

            private final byte[] content = new byte[1 << 20];

            @Override
            public String method() {
                return "POST";
            }

            @Override
            public String path() {
                return "/payments";
            }

            @Override
            public @Nullable String query() {
                return null;
            }

            @Override
            public String contentType() {
                return "application/json";
            }

            @Override
            public List<String> fieldLines(String name) {
                return QUOTED;
            }

            @Override
            public String caller() {
                return "alice";
            }

            @Override
            public RequestBody body(RequestBody.Limits limits) {
                return RequestBody.of(content.length == bytes ? content : new byte[bytes]);
            }
        }
    }

    /** Grants each claim and keeps nothing. */
    static final class FreeStore implements IdempotencyStore {

        private static final UUID TOKEN = new UUID(0x8000L, Long.MIN_VALUE);

        @Override
        public Claim claim(IdempotencyKey key, Fingerprint fingerprint, Terms terms) {
            return new Claim.Acquired(new FreeLease(key, TOKEN, 1));
        }

        @Override
        public Claim takeOver(Lease stale, Fingerprint fingerprint, Terms terms) {
            return claim(stale.key(), fingerprint, terms);
        }

        @Override
        public Completion complete(Lease lease, StoredResponse response) {
            return Completion.RECORDED;
        }

        @Override
        public boolean release(Lease lease) {
            return true;
        }

        @Override
        public int purgeExpired(int limit) {
            return 0;
        }
    }

    private record FreeLease(IdempotencyKey key, UUID token, int attempt) implements Lease {}
}
