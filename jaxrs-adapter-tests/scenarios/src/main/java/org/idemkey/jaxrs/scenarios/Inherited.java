// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.scenarios;

import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.HeaderParam;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.MediaType;
import org.idemkey.jaxrs.Idempotent;
import org.jspecify.annotations.Nullable;

/** Where an annotation can stand, other than on the method itself. */
final class Inherited {

    private Inherited() {}

    /** All annotations on an interface's method, whose parameter is generic. */
    public interface Contract<T> {

        /** Runs once. */
        @POST
        @Consumes(MediaType.TEXT_PLAIN)
        @Produces(MediaType.TEXT_PLAIN)
        @Idempotent
        String run(@HeaderParam(Bench.KEY) @Nullable String key, T body);
    }

    /** Nothing but the code. */
    @Path("inherited/contract")
    public static class OfContract implements Contract<String> {

        private final Ledger ledger;

        OfContract(Ledger ledger) {
            this.ledger = ledger;
        }

        @Override
        public String run(@Nullable String key, String body) {
            return body + ", execution " + ledger.execute(key);
        }
    }

    /** Annotated as a class, so that each of its methods is protected that can be. */
    @Idempotent
    public static class Base {

        private final Ledger ledger;

        Base(Ledger ledger) {
            this.ledger = ledger;
        }

        /** Runs once. */
        @POST
        @Produces(MediaType.TEXT_PLAIN)
        public String run(@HeaderParam(Bench.KEY) @Nullable String key, String body) {
            return body + ", execution " + ledger.execute(key);
        }

        /** Is safe, and so runs always. */
        @GET
        @Produces(MediaType.TEXT_PLAIN)
        public String look(@HeaderParam(Bench.KEY) @Nullable String key) {
            return "execution " + ledger.execute(key);
        }
    }

    /** Says nothing of idempotency. */
    @Path("inherited/base")
    public static class OfBase extends Base {

        OfBase(Ledger ledger) {
            super(ledger);
        }
    }

    /** What CDI's and Spring's class proxies look like: a subclass, with methods that have no annotations. */
    public static final class Proxy extends OfBase {

        private final OfBase original;

        Proxy(Ledger ledger) {
            super(ledger);
            original = new OfBase(ledger);
        }

        @Override
        public String run(@Nullable String key, String body) {
            return original.run(key, body);
        }
    }
}
