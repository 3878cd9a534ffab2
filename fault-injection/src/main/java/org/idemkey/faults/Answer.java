// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A whole answer as it came over the wire. Immutable and thread-safe. */
final class Answer {

    private static final JsonMapper JSON = new JsonMapper();

    /** What may differ between a first answer and its replay (lines 21 and 25): the marker, and what is never kept. */
    private static final Set<String> NOT_COMPARED = Set.of(
            "idempotent-replayed", "date", "server", "connection", "keep-alive", "transfer-encoding", "content-length");

    private final int status;
    private final List<Field> fields;
    private final byte[] body;

    /** One header field line. */
    record Field(String name, String value) {}

    Answer(int status, List<Field> fields, byte[] body) {
        this.status = status;
        this.fields = List.copyOf(fields);
        this.body = body.clone();
    }

    /** The same with one field more. */
    Answer with(Field field) {
        List<Field> more = new ArrayList<>(fields);
        more.add(field);
        return new Answer(status, more, body);
    }

    int status() {
        return status;
    }

    boolean isSuccess() {
        return status >= 200 && status <= 299;
    }

    /** Whether the answer says that it has been given before. */
    boolean isReplay() {
        return value("Idempotent-Replayed").filter("true"::equals).isPresent();
    }

    /** The value of the first field of that name. */
    Optional<String> value(String name) {
        return fields.stream()
                .filter(field -> field.name().equalsIgnoreCase(name))
                .map(Field::value)
                .findFirst();
    }

    /** A member of the JSON document that the body is, as text; absent if it is none, or has no such member. */
    Optional<String> member(String name) {
        try {
            JsonNode node = JSON.readTree(body).path(name);
            return node.isValueNode() && !node.isNull() ? Optional.of(node.asString()) : Optional.empty();
        } catch (JacksonException e) {
            return Optional.empty();
        }
    }

    /** Whether status, kept header fields and every byte of the body are the same. */
    boolean isSameAs(Answer other) {
        return status == other.status && kept().equals(other.kept()) && Arrays.equals(body, other.body);
    }

    private List<Field> kept() {
        return fields.stream()
                .filter(field -> !NOT_COMPARED.contains(field.name().toLowerCase(Locale.ROOT)))
                .toList();
    }

    /** Everything, in one line. */
    @Override
    public String toString() {
        return status + " " + fields + " " + new String(body, StandardCharsets.UTF_8);
    }
}
