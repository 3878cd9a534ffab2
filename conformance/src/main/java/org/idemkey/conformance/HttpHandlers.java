// SPDX-License-Identifier: Apache-2.0
package org.idemkey.conformance;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.idemkey.Bytes;
import org.idemkey.IdempotencyContext;

/** What the handlers behind the adapter do, by name, whatever the technology. They count how often they ran. */
public final class HttpHandlers {

    private final AtomicInteger executions = new AtomicInteger();
    private final CountDownLatch slowEntered = new CountDownLatch(1);
    private final CountDownLatch slowMayEnd = new CountDownLatch(1);

    /** Without synchronisation on purpose: only mutual exclusion keeps it right. */
    private int unguarded;

    HttpHandlers() {}

    /** How a technology hands a request over. */
    public interface Call {

        /** The last part of the path after {@code /run/}; without what follows a further slash. */
        String name();

        /** The whole body, read in the way that is natural to the technology. */
        byte[] body() throws IOException;

        /** All parameters of the query and of a form in the body, in their order, read as the technology does it. */
        Map<String, List<String>> parameters();

        /** What the handler can know about its key; empty where the request runs unprotected. */
        Optional<IdempotencyContext> context();
    }

    /**
     * What a technology has to answer.
     *
     * @param headers fields in their order, repeated ones as lines of their own; {@code Content-Type} is among them
     */
    public record Answer(int status, List<Field> headers, Bytes body) {

        private static Answer of(int status, String type, Bytes body) {
            return new Answer(status, new ArrayList<>(List.of(Field.set("Content-Type", type))), body);
        }

        private static Answer text(int status, String text) {
            return of(status, "text/plain;charset=UTF-8", Bytes.utf8(text));
        }

        private static Answer bare(int status) {
            return new Answer(status, new ArrayList<>(), Bytes.EMPTY);
        }

        private Answer with(Field... fields) {
            headers.addAll(List.of(fields));
            return this;
        }
    }

    /**
     * A header field line.
     *
     * @param added whether it stands beside others of that name; otherwise it takes their place
     */
    public record Field(String name, String value, boolean added) {

        static Field set(String name, String value) {
            return new Field(name, value, false);
        }

        static Field add(String name, String value) {
            return new Field(name, value, true);
        }
    }

    /** Runs a handler. */
    public Answer handle(Call call) throws IOException, InterruptedException {
        int execution = executions.incrementAndGet();
        String name = call.name();
        if (name.startsWith("status-")) {
            return Answer.text(Integer.parseInt(name.substring("status-".length())), "execution " + execution);
        }
        return switch (name) {
            case "payment" ->
                Answer.of(201, "application/json", Bytes.utf8("{\"id\": " + execution + "}"))
                        .with(Field.set("Location", "/payments/" + execution));
            case "echo" -> Answer.of(200, "application/octet-stream", Bytes.wrap(call.body()));
            case "parameters" -> Answer.text(200, call.parameters().toString());
            case "empty" -> Answer.bare(201);
            case "no-content" -> Answer.bare(204);
            case "binary" -> Answer.of(200, "application/octet-stream", Bytes.wrap(everyByte()));
            case "headers" ->
                Answer.bare(200)
                        .with(Field.add("X-Tag", "one"), Field.add("X-Tag", "two, three"), Field.add("X-Tag", "one"))
                        .with(Field.set("X-Latin", "caf\u00e9"), Field.add("Vary", "Accept"));
            case "momentary" ->
                Answer.text(200, "now")
                        .with(Field.set("Age", "7"), Field.set("X-Hop", "1"), Field.set("Connection", "X-Hop"))
                        .with(Field.set("Keep-Alive", "timeout=7777"), Field.set("Server", "handler"));
            case "cookie" -> Answer.text(200, "hello").with(Field.add("Set-Cookie", "session=secret; HttpOnly"));
            case "large" -> Answer.of(200, "application/octet-stream", Bytes.wrap(new byte[100_000]));
            case "context" -> Answer.text(200, describe(call.context()));
            case "slow" -> slow(execution);
            case "unguarded" -> Answer.text(201, "count " + ++unguarded);
            case "throw" -> throw new IllegalStateException("the handler's own exception");
            default -> Answer.text(404, "no such handler");
        };
    }

    private Answer slow(int execution) throws InterruptedException {
        slowEntered.countDown();
        if (!slowMayEnd.await(1, TimeUnit.MINUTES)) {
            throw new IllegalStateException("nobody let the slow handler end");
        }
        return Answer.text(201, "execution " + execution);
    }

    private static String describe(Optional<IdempotencyContext> context) {
        return context.map(c -> c.key().value() + " attempt " + c.attempt() + " charge " + c.downstreamKey("charge"))
                .orElse("unprotected");
    }

    static byte[] everyByte() {
        byte[] bytes = new byte[256];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) i;
        }
        return bytes;
    }

    int executions() {
        return executions.get();
    }

    int unguarded() {
        return unguarded;
    }

    boolean awaitSlow() throws InterruptedException {
        return slowEntered.await(1, TimeUnit.MINUTES);
    }

    void endSlow() {
        slowMayEnd.countDown();
    }
}
