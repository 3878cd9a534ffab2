// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The little that is asked of a Content-Type (RFC 9110 §8.3). */
final class MediaType {

    private MediaType() {}

    /** Type and subtype in lower case, without parameters; empty if there is none. */
    static String of(@Nullable String contentType) {
        if (contentType == null) {
            return "";
        }
        int end = contentType.indexOf(';');
        return (end < 0 ? contentType : contentType.substring(0, end)).strip().toLowerCase(Locale.ROOT);
    }

    /** The same without its {@code charset} parameters; all else stays as it was written. */
    static String withoutCharset(String contentType) {
        StringBuilder rest = new StringBuilder(contentType.length());
        int from = 0;
        while (from < contentType.length()) {
            int end = endOfPart(contentType, from);
            String part = contentType.substring(from, end);
            if (from == 0 || !isCharset(part)) {
                rest.append(part);
            }
            from = end;
        }
        return rest.toString();
    }

    /** Parts begin with their semicolon, the first one excepted; one within a quoted string ends nothing. */
    private static int endOfPart(String contentType, int from) {
        boolean quoted = false;
        for (int i = from; i < contentType.length(); i++) {
            char c = contentType.charAt(i);
            if (c == '\\' && quoted) {
                i++;
            } else if (c == '"') {
                quoted = !quoted;
            } else if (c == ';' && !quoted && i > from) {
                return i;
            }
        }
        return contentType.length();
    }

    private static boolean isCharset(String part) {
        String parameter = part.substring(1).stripLeading();
        int end = parameter.indexOf('=');
        return end > 0 && parameter.substring(0, end).strip().equalsIgnoreCase("charset");
    }
}
