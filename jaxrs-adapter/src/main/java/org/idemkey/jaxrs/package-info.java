// SPDX-License-Identifier: Apache-2.0
/**
 * {@code @Idempotent} for Jakarta REST 3.1 and 4.0, on any runtime: {@link org.idemkey.jaxrs.Idempotent} on a resource
 * method or class, and {@link org.idemkey.jaxrs.IdempotencyFeature} registered with the application.
 */
@NullMarked
package org.idemkey.jaxrs;

import org.jspecify.annotations.NullMarked;
