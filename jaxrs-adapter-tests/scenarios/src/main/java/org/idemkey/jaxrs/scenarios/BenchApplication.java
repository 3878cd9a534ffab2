// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.scenarios;

import jakarta.ws.rs.core.Application;
import java.util.Set;
import org.idemkey.BodyMatching;
import org.idemkey.Idempotency;
import org.idemkey.jaxrs.IdempotencyFeature;

/** All resources and filters, with the feature that protects them. */
final class BenchApplication extends Application {

    private final Idempotency engine;
    private final Ledger ledger;

    BenchApplication(Idempotency engine, Ledger ledger) {
        this.engine = engine;
        this.ledger = ledger;
    }

    // Deprecated, and yet the only way to hand instances over that each runtime knows.
    @SuppressWarnings("deprecation")
    @Override
    public Set<Object> getSingletons() {
        return Set.of(
                IdempotencyFeature.of(engine)
                        .variant("canonical", settings -> settings.bodyMatching(BodyMatching.CANONICAL_JSON)),
                new Filters.Registration(),
                new Bench(ledger),
                new AsyncBench(ledger),
                new EventBench(ledger),
                new Inherited.OfContract(ledger),
                new Inherited.Proxy(ledger));
    }
}
