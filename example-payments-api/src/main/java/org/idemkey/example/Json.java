// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** JSON in and out. What is written depends on nothing but its content: members stand in the order they were put in. */
final class Json {

    private static final JsonMapper MAPPER = JsonMapper.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .build();

    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSSX").withZone(ZoneOffset.UTC);

    private Json() {}

    static ObjectNode object() {
        return MAPPER.createObjectNode();
    }

    static ArrayNode array() {
        return MAPPER.createArrayNode();
    }

    /**
     * Reads a request's body, a JSON object.
     *
     * @throws ApiProblem if it is something else
     */
    static JsonNode read(HttpServletRequest request) throws IOException {
        requireJson(request.getContentType());
        return parse(request.getInputStream().readAllBytes());
    }

    /** Throws an {@link ApiProblem} unless a body's media type is JSON's. */
    static void requireJson(@Nullable String type) {
        if (type == null
                || !type.split(";", 2)[0].strip().toLowerCase(Locale.ROOT).equals("application/json")) {
            throw ApiProblem.notJson();
        }
    }

    /**
     * Takes a JSON object from its bytes, not from characters: JSON is UTF-8 (RFC 8259 §8.1), whatever a charset
     * parameter says.
     *
     * @throws ApiProblem if they are something else
     */
    static JsonNode parse(byte[] body) {
        JsonNode document;
        try {
            document = MAPPER.readTree(body);
        } catch (JacksonException e) {
            // Its message quotes the body.
            throw ApiProblem.malformed("The body is not valid JSON.");
        }
        if (!document.isObject()) {
            throw ApiProblem.malformed("The body is not a JSON object.");
        }
        return document;
    }

    /** Reads a document that this service wrote itself. */
    static JsonNode parse(String text) {
        return MAPPER.readTree(text);
    }

    /** A point in time as JSON has it here: always three digits after the point of its seconds, in UTC. */
    static String time(Instant instant) {
        return TIME.format(instant);
    }

    static byte[] bytes(JsonNode document) {
        return MAPPER.writeValueAsBytes(document);
    }

    /** Sends a document as the response's whole body. */
    static void send(HttpServletResponse response, String contentType, JsonNode document) throws IOException {
        byte[] bytes = bytes(document);
        response.setContentType(contentType);
        response.setContentLength(bytes.length);
        response.getOutputStream().write(bytes);
    }
}
