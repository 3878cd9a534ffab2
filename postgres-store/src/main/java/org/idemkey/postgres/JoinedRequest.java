// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.sql.Connection;
import java.sql.SQLException;

/** What a thread is tied to while it serves a protected request: where its connections come from. Thread-safe. */
@FunctionalInterface
interface JoinedRequest {

    /**
     * A connection of the handler's onto the request's one transaction.
     *
     * @throws SQLException if the request has ended, or no connection could be had
     */
    Connection connection() throws SQLException;
}
