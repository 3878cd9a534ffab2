// SPDX-License-Identifier: Apache-2.0
/**
 * Messages under the same promise as requests: an event leaves if and only if its transaction was committed, at least
 * once and in its aggregate's order, and a consumer's effect happens once per message.
 *
 * <p>Speaks plain JDBC to PostgreSQL; whatever talks to the database throws {@link java.sql.SQLException}.
 */
@NullMarked
package org.idemkey.messaging;

import org.jspecify.annotations.NullMarked;
