// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import org.idemkey.StoredResponse.Header;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.json.JsonFactory;

/**
 * Header fields as they lie in the table: an array of {@code ["Name", "value"]} in their order, with {@code true} as a
 * third element where the field was appended. No object, since jsonb would lose its order and repeated names.
 */
final class HeaderJson {

    private static final JsonFactory JSON = new JsonFactory();

    private HeaderJson() {}

    static String write(List<Header> headers) {
        StringWriter text = new StringWriter(32 + 48 * headers.size());
        try (JsonGenerator json = JSON.createGenerator(ObjectWriteContext.empty(), text)) {
            json.writeStartArray();
            for (Header header : headers) {
                json.writeStartArray();
                json.writeString(header.name());
                json.writeString(header.value());
                if (header.appended()) {
                    json.writeBoolean(true);
                }
                json.writeEndArray();
            }
            json.writeEndArray();
        }
        return text.toString();
    }

    /** Reads what {@link #write} wrote; elements past the third are left to versions to come. */
    static List<Header> read(String text) {
        List<Header> headers = new ArrayList<>();
        try (JsonParser json = JSON.createParser(ObjectReadContext.empty(), text)) {
            json.nextToken();
            while (json.nextToken() == JsonToken.START_ARRAY) {
                String name = json.nextStringValue();
                String value = json.nextStringValue();
                if (name == null || value == null) {
                    throw new IllegalStateException("a stored header field without a name or a value");
                }
                JsonToken token = json.nextToken();
                boolean appended = token == JsonToken.VALUE_TRUE;
                while (token != JsonToken.END_ARRAY) {
                    token = json.nextToken();
                }
                headers.add(new Header(name, value, appended));
            }
        }
        return headers;
    }
}
