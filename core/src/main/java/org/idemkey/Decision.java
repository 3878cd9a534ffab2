// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

/** What is to be done with a request. A value, so that an adapter can park it and act on it in a later callback. */
public sealed interface Decision {

    /** Not ours: it goes on as if Idemkey weren't there, and nothing is recorded. */
    record PassThrough() implements Decision {
        static final PassThrough INSTANCE = new PassThrough();
    }

    /** The claim is ours: run the handler, then end the lease with {@link Idempotency#finish} or {@link Idempotency#fail}. */
    record Proceed(Lease lease) implements Decision {}

    /** Answer with this, don't run the handler. A replay already has its marker among the headers. */
    record Respond(StoredResponse response) implements Decision {}
}
