// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import org.idemkey.servlet.FuzzOperation.Kind;
import org.jspecify.annotations.Nullable;

/**
 * One execution of a random handler: what it saw on its way, and which of Tomcat's own ways it met that the filter
 * doesn't take part in; {@code docs/containers.md} names each of them.
 */
final class FuzzRun {

    private final FuzzProgram program;
    private final List<String> seen = new ArrayList<>();
    private final Set<Integer> outputsAfterEnd = new HashSet<>();
    private final CountDownLatch finished = new CountDownLatch(1);
    private volatile boolean entered;
    private List<FuzzOperation> target = List.of();
    private int includes;
    private boolean ended;
    private boolean over;
    private boolean declared;
    private boolean wide;
    private boolean opensWriter;
    private boolean anyEncoding;
    private boolean anyBytes;
    private boolean committedAtEscape;
    private @Nullable String writersEncoding;

    FuzzRun(FuzzProgram program) {
        this.program = program;
    }

    FuzzProgram program() {
        return program;
    }

    List<String> seen() {
        return seen;
    }

    boolean hasEntered() {
        return entered;
    }

    /** An answer may be whole before its handler is. */
    void awaitEnd() throws InterruptedException {
        if (entered) {
            finished.await();
        }
    }

    // What the comparison has to know

    boolean isCommittedAtEscape() {
        return committedAtEscape;
    }

    boolean hasOpenedWriter() {
        return opensWriter;
    }

    /** Whether Tomcat may have told another encoding than the writer's. */
    boolean isAnyEncoding() {
        return anyEncoding;
    }

    /** Whether Tomcat may have written in another encoding than it told. */
    boolean isAnyBytes() {
        return anyBytes;
    }

    /** Whether the call of that number asked for an output when the response had ended. */
    boolean isOutputAfterEnd(int call) {
        return outputsAfterEnd.contains(call);
    }

    // The handler

    void handle(HttpServletRequest request, HttpServletResponse response, Executor workers) throws Exception {
        entered = true;
        if (program.async()) {
            AsyncContext async = request.startAsync();
            async.setTimeout(0);
            workers.execute(() -> onWorker(async));
            return;
        }
        try {
            operate(program.operations(), request, response);
        } finally {
            finished.countDown();
        }
    }

    private void onWorker(AsyncContext async) {
        try {
            operate(program.operations(), (HttpServletRequest) async.getRequest(), (HttpServletResponse)
                    async.getResponse());
        } catch (Exception e) {
            // Nobody would hear of it.
        } finally {
            async.complete();
            finished.countDown();
        }
    }

    /** The target of a dispatch. */
    void dispatched(HttpServletRequest request, HttpServletResponse response) throws Exception {
        operate(target, request, response);
    }

    private void operate(List<FuzzOperation> operations, HttpServletRequest request, HttpServletResponse response)
            throws Exception {
        for (FuzzOperation operation : operations) {
            if (over) {
                return;
            } else if (program.async() && operation.kind() == Kind.END) {
                // The container's own thread, on its way out, may end or reopen the response under what follows.
                continue;
            } else if (operation.kind() == Kind.ESCAPE) {
                committedAtEscape = response.isCommitted();
                operation.call().on(request, response, this);
            }
            before(operation, response);
            String result = result(operation, request, response);
            seen.add(operation.name() + " -> " + result);
            if (!result.equals("thrown")) {
                after(operation, response);
            }
        }
    }

    private String result(FuzzOperation operation, HttpServletRequest request, HttpServletResponse response) {
        boolean include = operation.name().contains("include");
        includes += include ? 1 : 0;
        try {
            String result = operation.call().on(request, response, this).toString();
            // Spaces mean nothing between parameters, and line ends become spaces when the head is made.
            return operation.seesEncoding() && anyEncoding
                    ? "any"
                    : result.replace("; ", ";").replace("\r\n", "  ");
        } catch (ServletException | IOException | RuntimeException e) {
            // Which exception it is, and what it says, is a container's own affair; that there is one is not.
            return "thrown";
        } catch (Exception e) {
            throw new IllegalStateException(e);
        } finally {
            includes -= include ? 1 : 0;
        }
    }

    private void before(FuzzOperation operation, HttpServletResponse response) {
        target = operation.inner().isEmpty() ? target : operation.inner();
        if (ended && operation.isOutput()) {
            outputsAfterEnd.add(seen.size());
        }
        if (operation.kind() == Kind.ENCODING) {
            anyEncoding |= response.isCommitted() || includes > 0;
            anyBytes |= includes > 0;
        }
        anyEncoding |= operation.opensWriter() && response.isCommitted();
        anyEncoding |= opensWriter && operation.name().equals("setContentType(null)");
        anyEncoding |= operation.name().startsWith("context.forward");
    }

    private void after(FuzzOperation operation, HttpServletResponse response) {
        anyEncoding |= operation.name().endsWith("forward(wrapped)") && response.isCommitted();
        if (operation.opensWriter()) {
            opensWriter = true;
            String encoding = response.getCharacterEncoding();
            anyBytes |= writersEncoding != null && !writersEncoding.equals(encoding);
            writersEncoding = writersEncoding == null ? encoding : writersEncoding;
            wide |= anyBytes || !operation.name().chars().allMatch(c -> c < 128) || encoding.equalsIgnoreCase("UTF-16");
        }
        declared |= operation.kind() == Kind.LENGTH;
        // Towards the declared length Tomcat counts a writer's characters, and not its bytes.
        over |= declared && wide && !ended;
        // An error or a redirect of an include's is ignored.
        ended |= (operation.kind() == Kind.END && includes == 0) || operation.kind() == Kind.CLOSE;
    }
}
