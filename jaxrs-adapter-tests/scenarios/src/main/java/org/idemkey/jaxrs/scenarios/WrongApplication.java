// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.scenarios;

import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.core.Application;
import java.util.Set;
import org.idemkey.Idempotency;
import org.idemkey.jaxrs.IdempotencyFeature;
import org.idemkey.jaxrs.Idempotent;

/** An application that must not start. */
final class WrongApplication extends Application {

    private final Idempotency engine;

    WrongApplication(Idempotency engine) {
        this.engine = engine;
    }

    // Deprecated, and yet the only way to hand instances over that each runtime knows.
    @SuppressWarnings("deprecation")
    @Override
    public Set<Object> getSingletons() {
        return Set.of(IdempotencyFeature.of(engine), new Wrong());
    }

    /** Protects what is safe. */
    @Path("wrong")
    public static final class Wrong {

        /** Is safe. */
        @GET
        @Idempotent
        public String get() {
            return "";
        }
    }
}
