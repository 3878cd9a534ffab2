// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The value of a Content-Type, taken apart as far as is needed: a type, and parameters (RFC 9110 §8.3). Never fails; what
 * isn't well-formed has no parameters that could be found. Immutable.
 */
public final class MediaType {

    private final String name;
    /** Each parameter as it was written, its semicolon in front. */
    private final List<String> parameters;

    private final String head;

    private MediaType(String head, List<String> parameters) {
        this.head = head;
        this.name = head.strip().toLowerCase(Locale.ROOT);
        this.parameters = parameters;
    }

    /** Takes a Content-Type apart; null is one without type and parameters. */
    public static MediaType parse(@Nullable String contentType) {
        if (contentType == null) {
            return new MediaType("", List.of());
        }
        int from = endOfPart(contentType, 0);
        String head = contentType.substring(0, from);
        List<String> parameters = new ArrayList<>();
        while (from < contentType.length()) {
            int end = endOfPart(contentType, from + 1);
            parameters.add(contentType.substring(from, end));
            from = end;
        }
        return new MediaType(head, parameters);
    }

    /** The index of the next semicolon that isn't within a quoted string. */
    private static int endOfPart(String text, int from) {
        boolean quoted = false;
        for (int i = from; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '\\' && quoted) {
                i++;
            } else if (c == '"') {
                quoted = !quoted;
            } else if (c == ';' && !quoted) {
                return i;
            }
        }
        return text.length();
    }

    /** Type and subtype in lower case, such as {@code text/plain}; empty if there is none. */
    public String name() {
        return name;
    }

    /** The first value of a parameter, without quotes; its name is not case-sensitive. */
    public Optional<String> parameter(String parameter) {
        return parameters.stream()
                .filter(each -> isNamed(each, parameter))
                .findFirst()
                .map(each -> unquoted(each.substring(each.indexOf('=') + 1).strip()));
    }

    private static String unquoted(String value) {
        if (value.length() < 2 || !value.startsWith("\"") || !value.endsWith("\"")) {
            return value;
        }
        StringBuilder text = new StringBuilder(value.length());
        for (int i = 1; i < value.length() - 1; i++) {
            if (value.charAt(i) == '\\' && i < value.length() - 2) {
                i++;
            }
            text.append(value.charAt(i));
        }
        return text.toString();
    }

    /** The Content-Type as it was written, but for the parameters of that name. */
    public String without(String parameter) {
        StringBuilder rest = new StringBuilder(head);
        for (String each : parameters) {
            if (!isNamed(each, parameter)) {
                rest.append(each);
            }
        }
        return rest.toString();
    }

    private static boolean isNamed(String parameter, String name) {
        int equals = parameter.indexOf('=');
        return equals > 0 && parameter.substring(1, equals).strip().equalsIgnoreCase(name);
    }

    /** JSON, by its own type or by suffix (RFC 6839 §3.1). */
    boolean isJson() {
        return name.equals("application/json") || name.endsWith("+json");
    }

    boolean isMultipart() {
        return name.startsWith("multipart/");
    }
}
