// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** A request without a server: a POST to /payments by nobody, until told otherwise. */
final class FakeRequest implements ProtectedRequest {

    String method = "POST";
    String path = "/payments";

    @Nullable
    String query;

    @Nullable
    String contentType = "application/json";

    @Nullable
    String caller;

    InputStream body = InputStream.nullInputStream();
    int bodyReads;
    private final Map<String, List<String>> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);

    static FakeRequest withKey(String... lines) {
        FakeRequest request = new FakeRequest();
        for (String line : lines) {
            request.header("Idempotency-Key", line);
        }
        return request;
    }

    FakeRequest header(String name, String value) {
        headers.computeIfAbsent(name, n -> new ArrayList<>()).add(value);
        return this;
    }

    FakeRequest method(String method) {
        this.method = method;
        return this;
    }

    FakeRequest path(String path) {
        this.path = path;
        return this;
    }

    FakeRequest query(@Nullable String query) {
        this.query = query;
        return this;
    }

    FakeRequest contentType(@Nullable String contentType) {
        this.contentType = contentType;
        return this;
    }

    FakeRequest caller(String caller) {
        this.caller = caller;
        return this;
    }

    FakeRequest body(String text) {
        return body(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
    }

    FakeRequest body(InputStream stream) {
        body = stream;
        return this;
    }

    @Override
    public String method() {
        return method;
    }

    @Override
    public String path() {
        return path;
    }

    @Override
    public @Nullable String query() {
        return query;
    }

    @Override
    public @Nullable String contentType() {
        return contentType;
    }

    @Override
    public List<String> fieldLines(String name) {
        return headers.getOrDefault(name, List.of());
    }

    @Override
    public @Nullable String caller() {
        return caller;
    }

    @Override
    public RequestBody body(RequestBody.Limits limits) throws IOException {
        bodyReads++;
        return RequestBody.read(body, -1, limits);
    }
}
