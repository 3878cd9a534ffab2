// SPDX-License-Identifier: Apache-2.0
/**
 * The servlet filter, for any Jakarta Servlet 6 container. What {@link org.idemkey.servlet.IdempotencyFilter} decides it
 * asks the engine in {@code org.idemkey}; this package holds what has to be known about servlets.
 */
@NullMarked
package org.idemkey.servlet;

import org.jspecify.annotations.NullMarked;
