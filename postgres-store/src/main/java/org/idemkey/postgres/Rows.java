// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.util.List;
import org.idemkey.Bytes;
import org.idemkey.StoredResponse;

/** A response in the table's three columns {@code response_code, response_headers, response_body}, and back. */
final class Rows {

    private Rows() {}

    /**
     * Binds a response to three parameters in the columns' order, the second one written as {@code CAST(? AS jsonb)}.
     *
     * @return the index of the next parameter
     */
    static int bindResponse(PreparedStatement statement, int index, StoredResponse response) throws SQLException {
        statement.setInt(index, response.status());
        statement.setString(index + 1, HeaderJson.write(response.headers()));
        Bytes body = response.body().orElse(null);
        if (body == null) {
            statement.setNull(index + 2, Types.BINARY);
        } else {
            statement.setBytes(index + 2, body.toByteArray());
        }
        return index + 3;
    }

    /** Reads a finished row's response; a row without a body is a tombstone. */
    static StoredResponse readResponse(ResultSet row) throws SQLException {
        int status = row.getInt("response_code");
        byte[] body = row.getBytes("response_body");
        if (body == null) {
            return StoredResponse.tombstone(status);
        }
        String headers = row.getString("response_headers");
        return StoredResponse.of(status, headers == null ? List.of() : HeaderJson.read(headers), Bytes.wrap(body));
    }
}
