// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.scenarios;

import jakarta.ws.rs.core.Application;
import java.util.Set;
import javax.sql.DataSource;
import org.idemkey.Idempotency;
import org.idemkey.jaxrs.IdempotencyFeature;

/** Resources that write to a database, with the feature that protects them. */
final class SharedApplication extends Application {

    private final Idempotency engine;
    private final DataSource joined;
    private final Ledger ledger;

    SharedApplication(Idempotency engine, DataSource joined, Ledger ledger) {
        this.engine = engine;
        this.joined = joined;
        this.ledger = ledger;
    }

    // Deprecated, and yet the only way to hand instances over that each runtime knows.
    @SuppressWarnings("deprecation")
    @Override
    public Set<Object> getSingletons() {
        return Set.of(IdempotencyFeature.of(engine), new SharedBench(joined, ledger));
    }
}
