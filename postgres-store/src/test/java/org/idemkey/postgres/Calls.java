// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.util.List;
import java.util.UUID;
import org.idemkey.Bytes;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.Idempotency;
import org.idemkey.IdempotencyContext;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore;
import org.idemkey.Lease;
import org.idemkey.Scope;
import org.idemkey.StoredResponse;
import org.idemkey.StoredResponse.Header;

/** Protected requests without HTTP around them: what an adapter does with the engine, and nothing else. */
final class Calls {

    static final Fingerprint REQUEST = Fingerprint.of("POST /payments 1250");
    static final Fingerprint OTHER_REQUEST = Fingerprint.of("POST /payments 1251");

    private final Idempotency engine;

    Calls(IdempotencyStore store) {
        this(Idempotency.of(store));
    }

    Calls(Idempotency engine) {
        this.engine = engine;
    }

    /** What answers a request. */
    @FunctionalInterface
    interface Handler {
        StoredResponse handle(IdempotencyContext context) throws Exception;
    }

    static IdempotencyKey newKey() {
        return new IdempotencyKey(Scope.ANONYMOUS, UUID.randomUUID().toString());
    }

    static StoredResponse answer(int status) {
        return StoredResponse.of(
                status, List.of(new Header("Content-Type", "text/plain")), Bytes.utf8("answer " + status));
    }

    /** Serves a request; null where the key was in flight, belonged to another request, or had an unknown outcome. */
    StoredResponse serve(IdempotencyKey key, Handler handler) throws Exception {
        Claim claim = engine.claim(key, REQUEST);
        if (claim instanceof Claim.Completed completed) {
            return completed.response();
        }
        return claim instanceof Claim.Acquired acquired ? finish(acquired.lease(), handler) : null;
    }

    /** Runs the handler of a claim that has been acquired, on this thread. */
    StoredResponse finish(Lease lease, Handler handler) throws Exception {
        StoredResponse response;
        Lease.Binding binding = lease.bind();
        try {
            response = handler.handle(new IdempotencyContext(lease));
        } catch (Throwable e) {
            engine.fail(lease, e);
            throw e;
        } finally {
            binding.close();
        }
        return engine.finish(lease, response).orElse(response);
    }
}
