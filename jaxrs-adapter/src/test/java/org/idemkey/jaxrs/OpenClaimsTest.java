// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.awaitility.Awaitility;
import org.idemkey.Bytes;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.Idempotency;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyListener.Event;
import org.idemkey.IdempotencyStore;
import org.idemkey.InMemoryIdempotencyStore;
import org.idemkey.Lease;
import org.idemkey.Scope;
import org.idemkey.StoredResponse;
import org.junit.jupiter.api.Test;

/** That each claim ends once, whatever becomes of its request, and that no thread stays tied to one. */
class OpenClaimsTest {

    private static final IdempotencyKey KEY = new IdempotencyKey(Scope.ANONYMOUS, "k");
    private static final StoredResponse CREATED = StoredResponse.of(201, List.of(), Bytes.EMPTY);

    private final List<Event> events = new CopyOnWriteArrayList<>();
    private final TransactionalStore transactional = new TransactionalStore();
    private final OpenClaims claims = new OpenClaims();

    private Exchange open(IdempotencyStore store, boolean elsewhere) {
        Idempotency engine = Idempotency.builder(store)
                .listener((event, key, cause) -> events.add(event))
                .build();
        Lease lease = ((Claim.Acquired) engine.claim(KEY, Fingerprint.of("f"))).lease();
        return claims.open(new ProtectedMethod(engine, elsewhere, false, false), lease);
    }

    @Test
    void aClaimEndsOnce() {
        Exchange exchange = open(new InMemoryIdempotencyStore(), false);
        OpenClaim claim = exchange.openClaim();
        assertThat(claims.find(claim.token())).isSameAs(claim);
        assertThat(exchange.finish(CREATED)).isTrue();
        assertThat(exchange.finish(CREATED)).isTrue();
        claim.fail(new IllegalStateException());
        claim.abandon();
        assertThat(exchange.openClaim()).isNull();
        assertThat(claims.find(claim.token())).isNull();
        assertThat(events).containsExactly(Event.CLAIMED, Event.RECORDED);
    }

    /** The last resort, where a runtime drops a request without a word: its claim ends, as that of one that threw. */
    @Test
    void aForgottenClaimEndsWithItsRequest() {
        open(new InMemoryIdempotencyStore(), false);
        Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> {
            System.gc();
            return events.size() == 2;
        });
        assertThat(events).containsExactly(Event.CLAIMED, Event.RECORDED);
    }

    @Test
    void aForgottenClaimIsReleasedWhereItsEffectsAreUndone() {
        open(transactional, false);
        Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> {
            System.gc();
            return events.size() == 2;
        });
        assertThat(events).containsExactly(Event.CLAIMED, Event.RELEASED);
    }

    @Test
    void theThreadIsTiedUntilTheClaimEnds() {
        Exchange exchange = open(transactional, false);
        exchange.openClaim().bind();
        assertThat(TransactionalStore.TIED.get().key()).isEqualTo(KEY);
        exchange.finish(CREATED);
        assertThat(TransactionalStore.TIED.get()).isNull();
    }

    @Test
    void aThreadIsNeverTiedToWhatGoesOnElsewhere() {
        Exchange exchange = open(transactional, true);
        exchange.openClaim().bind();
        assertThat(TransactionalStore.TIED.get()).isNull();
    }

    /** What ends on another thread leaves this one tied, until it serves its next request. */
    @Test
    void theNextRequestOfAThreadFindsItUntied() {
        Exchange exchange = open(transactional, false);
        exchange.openClaim().bind();
        CompletableFuture.runAsync(() -> exchange.finish(CREATED)).join();
        assertThat(TransactionalStore.TIED.get()).isNotNull();
        OpenClaim.unbindForgotten();
        assertThat(TransactionalStore.TIED.get()).isNull();
        OpenClaim.unbindForgotten();
    }
}
