// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.util.stream.Collectors.joining;

import java.util.Locale;
import java.util.Set;
import org.idemkey.servlet.FuzzOperation.Kind;

/**
 * What has to be the same of the answers to one random handler. Status, headers and bytes; less than that where the
 * handler met one of the ways of Tomcat's own that {@code docs/containers.md} tells of.
 */
final class FuzzAnswers {

    static final String ERROR_PAGE = "X-Error-Page";
    static final int LIMIT = 100_000;

    /** Framing is the container's affair, and moments are moments. */
    static final Set<String> NOT_COMPARED =
            Set.of("date", "content-length", "transfer-encoding", "connection", "keep-alive", "idempotent-replayed");

    /** Line 25, and a name that no HTTP message can carry. */
    private static final Set<String> NOT_REPLAYED = Set.of("set-cookie", "server", "age", "no token");

    private final FuzzRun run;
    private final RawResponse first;
    private final boolean isOwnPage;
    private final boolean isTomcatsPage;

    FuzzAnswers(FuzzClient.Answer filtered) {
        run = filtered.run();
        first = filtered.response();
        isOwnPage = first.header(ERROR_PAGE).isPresent();
        isTomcatsPage = first.text().startsWith("<!doctype html>");
    }

    /**
     * Whether the handler threw after the response was committed. What has left in part the container can only break off,
     * and what was held back becomes a whole error page (ADR 20); but a stream has left.
     */
    boolean isAnotherEnd() {
        return run.isCommittedAtEscape() && ((first.status() == 500 && isOwnPage) || isStreamed());
    }

    boolean isStreamed() {
        return first.body().length() > LIMIT
                || first.header("Content-Type")
                        .filter(type -> type.startsWith("text/event-stream"))
                        .isPresent();
    }

    String firstAnswer(RawResponse response) {
        boolean anyEncoding = run.isAnyEncoding() || (isTomcatsPage && run.hasOpenedWriter());
        boolean isPage = isOwnPage || isTomcatsPage;
        // A declared length stays with Tomcat's response, and cuts its error page off.
        boolean cut = isPage && run.program().contains(Kind.LENGTH);
        boolean anyBytes = run.isAnyBytes() || cut || (isPage && anyEncoding);
        return text(response, Set.of(), anyEncoding, anyBytes);
    }

    String replay(RawResponse response) {
        // Without a type an encoding has no field to be kept in, and the page is written anew (ADR 2).
        boolean untyped = isOwnPage && first.header("Content-Type").isEmpty();
        return text(response, NOT_REPLAYED, false, untyped);
    }

    /** Containers may write the fields in another order; those of one name stay in theirs. */
    private static String text(RawResponse response, Set<String> left, boolean anyEncoding, boolean anyBytes) {
        String fields = response.fields().stream()
                .filter(field -> !NOT_COMPARED.contains(field.name().toLowerCase(Locale.ROOT)))
                .filter(field -> !left.contains(field.name().toLowerCase(Locale.ROOT)))
                .map(field -> field.name().toLowerCase(Locale.ROOT) + ": "
                        + field.value().replace("; ", ";"))
                .map(field -> anyEncoding && field.startsWith("content-type:")
                        ? field.replaceFirst(";charset=[^;]*", "")
                        : field)
                .sorted((a, b) -> a.substring(0, a.indexOf(':')).compareTo(b.substring(0, b.indexOf(':'))))
                .collect(joining("\n"));
        int length = response.body().length();
        String body = length > 500
                ? length + " bytes, hash " + response.body().hashCode()
                : length + " bytes: " + response.body().toUtf8();
        return response.status() + "\n" + fields + "\n" + (anyBytes ? "any bytes" : body);
    }
}
