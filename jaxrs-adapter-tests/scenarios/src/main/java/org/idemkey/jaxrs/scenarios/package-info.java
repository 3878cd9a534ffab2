// SPDX-License-Identifier: Apache-2.0
/** What the JAX-RS adapter must do on any runtime: resources, filters, and the tests that call them. */
@NullMarked
package org.idemkey.jaxrs.scenarios;

import org.jspecify.annotations.NullMarked;
