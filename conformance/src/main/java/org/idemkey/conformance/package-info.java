// SPDX-License-Identifier: Apache-2.0
/**
 * The contracts of Idemkey as JUnit tests, for its own stores and adapters and for anyone's: a test class inherits one,
 * adds the wiring, and has every case.
 */
@NullMarked
package org.idemkey.conformance;

import org.jspecify.annotations.NullMarked;
