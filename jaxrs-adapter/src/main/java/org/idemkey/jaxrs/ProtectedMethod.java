// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs;

import org.idemkey.Idempotency;

/**
 * How a resource method is protected.
 *
 * @param engine the engine with what the annotation has changed
 * @param elsewhere whether it may go on, or be answered, on another thread than the request's
 * @param detached whether a time-out may answer while it is still at work ({@code @Suspended})
 * @param events whether it sends server-sent events
 */
record ProtectedMethod(Idempotency engine, boolean elsewhere, boolean detached, boolean events) {}
