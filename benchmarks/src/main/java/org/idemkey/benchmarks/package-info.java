// SPDX-License-Identifier: Apache-2.0
/**
 * What idempotency costs. Every figure is a ratio to the same application without it, measured in turns with it on one
 * machine, so that a reader can measure it again on another.
 */
@NullMarked
package org.idemkey.benchmarks;

import org.jspecify.annotations.NullMarked;
