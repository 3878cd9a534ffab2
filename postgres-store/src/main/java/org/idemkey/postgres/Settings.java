// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import java.util.Properties;
import org.jspecify.annotations.Nullable;

/**
 * What a handler may set on its connection beside the transaction, as it was before: remembered before the first
 * change, restored when that connection is closed, so that neither the next one nor the pool gets to see it.
 */
final class Settings {

    private final Connection connection;
    private @Nullable Integer holdability;
    private @Nullable Integer networkTimeout;
    private @Nullable Map<String, Class<?>> typeMap;
    private @Nullable Properties clientInfo;
    private @Nullable String schema;

    Settings(Connection connection) {
        this.connection = connection;
    }

    /** Looks whether a method of the connection changes something that is still to be remembered. */
    void aboutToCall(String method) throws SQLException {
        switch (method) {
            case "setHoldability" -> holdability = holdability == null ? connection.getHoldability() : holdability;
            case "setNetworkTimeout" ->
                networkTimeout = networkTimeout == null ? connection.getNetworkTimeout() : networkTimeout;
            case "setTypeMap" -> typeMap = typeMap == null ? connection.getTypeMap() : typeMap;
            case "setClientInfo" -> clientInfo = clientInfo == null ? copyOfClientInfo() : clientInfo;
            case "setSchema" -> schema = schema == null ? connection.getSchema() : schema;
            default -> {
                // Changes nothing that outlives the call.
            }
        }
    }

    private Properties copyOfClientInfo() throws SQLException {
        Properties copy = new Properties();
        copy.putAll(connection.getClientInfo());
        return copy;
    }

    /** Restores all of it. */
    void restore() throws SQLException {
        if (schema != null) {
            connection.setSchema(schema);
        }
        if (clientInfo != null) {
            connection.setClientInfo(clientInfo);
        }
        restoreInDriver();
        connection.clearWarnings();
    }

    /** Restores what no statement is needed for; the rest has gone with the transaction. */
    void restoreLocally() {
        try {
            restoreInDriver();
        } catch (SQLException e) {
            // The connection is broken, and its settings are nobody's concern.
        }
    }

    private void restoreInDriver() throws SQLException {
        if (holdability != null) {
            connection.setHoldability(holdability);
        }
        if (networkTimeout != null) {
            connection.setNetworkTimeout(Runnable::run, networkTimeout);
        }
        if (typeMap != null) {
            connection.setTypeMap(typeMap);
        }
    }
}
