// SPDX-License-Identifier: Apache-2.0
/**
 * Idempotency keys without HTTP or SQL: the values, the store's interface, the engine that decides, and a store in
 * memory.
 *
 * <p>The promise above all others: for one key, the effect happens at most once, unless the user explicitly chose
 * otherwise.
 */
@NullMarked
package org.idemkey;

import org.jspecify.annotations.NullMarked;
