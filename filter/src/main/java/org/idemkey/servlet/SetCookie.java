// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import jakarta.servlet.http.Cookie;
import java.util.Map;

/**
 * A cookie as a header value (RFC 6265 §4.1), for filters that keep cookies. The first answer's line is the container's;
 * it needn't look the same, but means the same.
 */
final class SetCookie {

    private SetCookie() {}

    static String of(Cookie cookie) {
        StringBuilder line = new StringBuilder(cookie.getName()).append('=');
        if (cookie.getValue() != null) {
            line.append(cookie.getValue());
        }
        for (Map.Entry<String, String> attribute : cookie.getAttributes().entrySet()) {
            String name = attribute.getKey();
            String value = attribute.getValue();
            if (isFlag(name)) {
                if (!"false".equalsIgnoreCase(value)) {
                    line.append("; ").append(name);
                }
            } else if (!name.equalsIgnoreCase("Max-Age") || !value.startsWith("-")) {
                line.append("; ").append(name).append('=').append(value);
            }
        }
        return line.toString();
    }

    private static boolean isFlag(String attribute) {
        return attribute.equalsIgnoreCase("Secure")
                || attribute.equalsIgnoreCase("HttpOnly")
                || attribute.equalsIgnoreCase("Partitioned");
    }
}
