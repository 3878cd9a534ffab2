// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.util.List;

/**
 * One call that a random handler makes.
 *
 * @param name what it is, for a report that can be read
 * @param kind what the comparison has to know about it
 * @param inner what the target of a dispatch does
 */
record FuzzOperation(String name, Kind kind, List<FuzzOperation> inner, Call call) {

    enum Kind {
        /** Its exception leaves the handler, instead of being noted. */
        ESCAPE,
        /** The response takes nothing more after it (Servlet 6.1 §5.8, §9.4). */
        END,
        CLOSE,
        LENGTH,
        ENCODING,
        PRINT,
        WRITE,
        OTHER
    }

    /** What it does; its result is what the handler sees. */
    @FunctionalInterface
    interface Call {
        Object on(HttpServletRequest request, HttpServletResponse response, FuzzRun run) throws Exception;
    }

    @FunctionalInterface
    interface Action {
        void on(HttpServletResponse response) throws Exception;
    }

    @FunctionalInterface
    interface View {
        Object of(HttpServletResponse response) throws Exception;
    }

    static FuzzOperation act(Kind kind, String name, Action action) {
        return new FuzzOperation(name, kind, List.of(), (request, response, run) -> {
            action.on(response);
            return "done";
        });
    }

    static FuzzOperation act(String name, Action action) {
        return act(Kind.OTHER, name, action);
    }

    static FuzzOperation see(String name, View view) {
        return new FuzzOperation(name, Kind.OTHER, List.of(), (request, response, run) -> view.of(response));
    }

    /** The same with another target, for a dispatch. */
    FuzzOperation with(List<FuzzOperation> other) {
        return new FuzzOperation(name, kind, other, call);
    }

    boolean opensWriter() {
        return kind == Kind.PRINT || name.equals("writer.close()");
    }

    boolean isOutput() {
        return kind == Kind.PRINT || kind == Kind.WRITE || kind == Kind.CLOSE;
    }

    boolean seesEncoding() {
        return name.equals("getContentType()") || name.equals("getCharacterEncoding()");
    }

    @Override
    public String toString() {
        return inner.isEmpty() ? name : name + " " + inner;
    }
}
