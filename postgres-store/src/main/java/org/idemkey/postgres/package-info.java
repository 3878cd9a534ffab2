// SPDX-License-Identifier: Apache-2.0
/**
 * Keeps idempotency keys in PostgreSQL, in one table.
 *
 * <p>The database's clock is the only clock, a primary key decides every race, and no statement needs a session of its
 * own, so a transaction-pooling proxy may stand in between.
 */
@NullMarked
package org.idemkey.postgres;

import org.jspecify.annotations.NullMarked;
