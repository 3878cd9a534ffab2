// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigDecimal;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.json.JsonFactory;

/**
 * One form for all JSON texts of one meaning: members sorted by name (duplicates in their own order), numbers as
 * decimals, every value tagged and preceded by its length.
 */
final class CanonicalJson {

    private static final JsonFactory JSON = new JsonFactory();

    private CanonicalJson() {}

    /** Feeds the form to the digest, or leaves the digest as it was and answers false where there is no valid JSON. */
    static boolean digest(RequestBody body, MessageDigest digest) throws IOException {
        byte[] form;
        try (InputStream in = body.openStream();
                JsonParser parser = JSON.createParser(ObjectReadContext.empty(), in)) {
            JsonToken first = parser.nextToken();
            if (first == null) {
                return false;
            }
            form = value(parser, first);
            if (parser.nextToken() != null) {
                return false;
            }
        } catch (JacksonException e) {
            // Not JSON, or past the parser's limits on depth and length: the raw bytes speak for themselves.
            return false;
        }
        digest.update((byte) 'c');
        digest.update(form);
        return true;
    }

    private static byte[] value(JsonParser parser, JsonToken token) throws IOException {
        return switch (token) {
            case START_OBJECT -> object(parser);
            case START_ARRAY -> array(parser);
            case VALUE_STRING -> tagged('s', Fingerprinter.codeUnits(parser.getString()));
            case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> tagged('n', number(parser.getDecimalValue()));
            case VALUE_TRUE -> tagged('t', new byte[0]);
            case VALUE_FALSE -> tagged('f', new byte[0]);
            default -> tagged('0', new byte[0]);
        };
    }

    private static byte[] array(JsonParser parser) throws IOException {
        ByteArrayOutputStream items = new ByteArrayOutputStream();
        for (JsonToken token = parser.nextToken(); token != JsonToken.END_ARRAY; token = parser.nextToken()) {
            items.writeBytes(value(parser, token));
        }
        return tagged('a', items.toByteArray());
    }

    private static byte[] object(JsonParser parser) throws IOException {
        List<Member> members = new ArrayList<>();
        while (parser.nextToken() != JsonToken.END_OBJECT) {
            String name = parser.currentName();
            members.add(new Member(name, value(parser, parser.nextToken())));
        }
        // A stable sort, so that duplicates keep the order in which a lenient reader would take the last one.
        members.sort(Comparator.comparing(Member::name));
        ByteArrayOutputStream sorted = new ByteArrayOutputStream();
        for (Member member : members) {
            sorted.writeBytes(tagged('m', Fingerprinter.codeUnits(member.name())));
            sorted.writeBytes(member.value());
        }
        return tagged('o', sorted.toByteArray());
    }

    /** Never in plain digits: 1e999999999 would have a billion of them. */
    private static byte[] number(BigDecimal number) {
        BigDecimal stripped = number.stripTrailingZeros();
        return Fingerprinter.codeUnits(stripped.unscaledValue() + "e" + -(long) stripped.scale());
    }

    private static byte[] tagged(char tag, byte[] content) throws IOException {
        ByteArrayOutputStream framed = new ByteArrayOutputStream(content.length + 5);
        DataOutputStream out = new DataOutputStream(framed);
        out.writeByte(tag);
        out.writeInt(content.length);
        out.write(content);
        return framed.toByteArray();
    }

    private static final class Member {
        private final String name;
        private final byte[] value;

        Member(String name, byte[] value) {
            this.name = name;
            this.value = value;
        }

        String name() {
            return name;
        }

        byte[] value() {
            return value;
        }
    }
}
