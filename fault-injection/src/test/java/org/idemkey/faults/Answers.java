// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Answers as the sample API gives them. */
final class Answers {

    static final String MARKER = "Idempotent-Replayed";

    private Answers() {}

    static Answer created(String id, long amount) {
        return answer(201, "{\"id\": \"" + id + "\", \"amount\": " + amount + "}", "Location", "/payments/" + id);
    }

    static Answer problem(int status, String name) {
        return answer(
                status,
                "{\"type\": \"https://idemkey.org/problems/" + name + "\"}",
                "Content-Type",
                "application/problem+json");
    }

    /** The application's own refusal or failure. */
    static Answer own(int status) {
        return answer(status, "{\"type\": \"about:blank\"}", "Content-Type", "application/problem+json");
    }

    static Answer answer(int status, String body, String... fields) {
        List<Answer.Field> list = new ArrayList<>();
        for (int i = 0; i < fields.length; i += 2) {
            list.add(new Answer.Field(fields[i], fields[i + 1]));
        }
        return new Answer(status, list, body.getBytes(StandardCharsets.UTF_8));
    }

    static Answer replayOf(Answer first) {
        return first.with(new Answer.Field(MARKER, "true"));
    }
}
