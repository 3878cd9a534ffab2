// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import jakarta.servlet.ServletContext;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.ServletResponseWrapper;
import jakarta.servlet.http.HttpServletResponse;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.charset.Charset;

/** What containers do in their own ways, and no interface of theirs tells. Each line of it is held by a test on them. */
final class Container {

    private Container() {}

    private static boolean isJetty(ServletContext context) {
        return context.getServerInfo().startsWith("jetty");
    }

    /** Whether the page of an exception carries what the handler had set before it threw. */
    static boolean keepsHeadersOfExceptions(ServletContext context) {
        return !context.getServerInfo().startsWith("Undertow");
    }

    /** The encoding of a form that tells none: what the specification says, or UTF-8. */
    static Charset formEncoding(ServletContext context) {
        return isJetty(context) ? UTF_8 : ISO_8859_1;
    }

    /**
     * Whether a form with a broken escape or encoding is refused. Otherwise what is broken of it counts as not sent, which
     * the specification left open before 6.1.
     */
    static boolean refusesBrokenForms(ServletContext context) {
        int version = 100 * context.getMajorVersion() + context.getMinorVersion();
        return version >= 601 || isJetty(context);
    }

    /**
     * What our response shows as the one that it wraps. Tomcat looks through all wrappers for its own after a forward,
     * and lets nothing pass any more (11; 10.1 if it is told to): what is held back would be lost. It must not find it.
     */
    static HttpServletResponse shown(HttpServletResponse response) {
        ServletResponse innermost = response;
        while (innermost instanceof ServletResponseWrapper wrapper) {
            innermost = wrapper.getResponse();
        }
        if (!innermost.getClass().getName().startsWith("org.apache.catalina.")) {
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
