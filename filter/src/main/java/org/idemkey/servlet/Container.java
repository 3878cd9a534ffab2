// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import jakarta.servlet.ServletContext;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.ServletResponseWrapper;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.EOFException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.charset.Charset;
import org.jspecify.annotations.Nullable;

/** What containers do in their own ways, and no interface of theirs tells. Each line of it is held by a test on them. */
final class Container {

    private Container() {}

    private static boolean isJetty(ServletContext context) {
        return context.getServerInfo().startsWith("jetty");
    }

    private static boolean isTomcat(ServletContext context) {
        return context.getServerInfo().startsWith("Apache Tomcat");
    }

    /** Whether the page of an exception carries what the handler had set before it threw. */
    static boolean keepsHeadersOfExceptions(ServletContext context) {
        return !context.getServerInfo().startsWith("Undertow");
    }

    /** The encoding of a form, multipart too, that tells none: what the specification says, or UTF-8. */
    static Charset formEncoding(ServletContext context) {
        return isJetty(context) ? UTF_8 : ISO_8859_1;
    }

    /**
     * The encoding of the parts' header fields, names among them; the specification tells none.
     *
     * @param ofRequest what the request tells, if it does
     */
    static Charset partFieldEncoding(ServletContext context, @Nullable Charset ofRequest) {
        if (isJetty(context)) {
            return UTF_8;
        } else if (ofRequest != null) {
            return ofRequest;
        }
        return isTomcat(context) ? Charset.defaultCharset() : ISO_8859_1;
    }

    /** Whether a field's own media type tells the encoding of its value; else it is the request's. */
    static boolean partsTellTheirEncoding(ServletContext context) {
        return !isTomcat(context);
    }

    /** Whether a part that has a name counts although the name is empty. */
    static boolean keepsNamelessParts(ServletContext context) {
        return !isTomcat(context);
    }

    /** The name of the field, if any, whose value is the encoding of the others (RFC 7578 §4.6). */
    static @Nullable String encodingField(ServletContext context) {
        return isJetty(context) ? "_charset_" : null;
    }

    /**
     * Whether a form with a broken escape or encoding is refused. Otherwise what is broken of it counts as not sent, which
     * the specification left open before 6.1.
     */
    static boolean refusesBrokenForms(ServletContext context) {
        int version = 100 * context.getMajorVersion() + context.getMinorVersion();
        return version >= 601 || isJetty(context);
    }

    /** The request's media type. Jetty 12.1 throws where the charset in it is unknown; then the field is read. */
    static @Nullable String contentType(HttpServletRequest request) {
        try {
            return request.getContentType();
        } catch (IllegalArgumentException e) {
            return request.getHeader("Content-Type");
        }
    }

    /**
     * Whether a container fails because it would parse a body that was read before. Jetty 12.1 does so when it is asked for
     * a parameter and the servlet takes parts; which exception it throws then depends on the version, and not on the reason.
     */
    static boolean missesBody(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof EOFException) {
                return true;
            }
        }
        return false;
    }

    private static boolean isOf(ServletResponse response, String packages) {
        ServletResponse innermost = response;
        while (innermost instanceof ServletResponseWrapper wrapper) {
            innermost = wrapper.getResponse();
        }
        return innermost.getClass().getName().startsWith(packages);
    }

    /**
     * Whether a reset leaves the cookies, against Servlet 6.1 §5.1: Undertow's does. An answer that takes the place of the
     * handler's must not bring its cookies; header fields of the same text are reset.
     */
    static boolean resetKeepsCookies(HttpServletResponse response) {
        return isOf(response, "io.undertow.");
    }

    /**
     * Whether the language of {@code setLocale} is kept apart from the header fields, replaces them when they are sent
     * with a body, and is left out without one. Elsewhere it is a field like any other.
     */
    static boolean keepsLocaleApart(HttpServletResponse response) {
        return isTomcat(response);
    }

    private static boolean isTomcat(ServletResponse response) {
        return isOf(response, "org.apache.catalina.");
    }

    /**
     * What our response shows as the one that it wraps. Tomcat looks through all wrappers for its own after a forward,
     * and lets nothing pass any more (11; 10.1 if it is told to): what is held back would be lost. It must not find it.
     */
    static HttpServletResponse shown(HttpServletResponse response) {
        if (!isTomcat(response)) {
            return response;
        }
        return (HttpServletResponse) Proxy.newProxyInstance(
                HttpServletResponse.class.getClassLoader(),
                new Class<?>[] {HttpServletResponse.class},
                (proxy, method, arguments) -> {
                    try {
                        return method.invoke(response, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }
}
