// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.idemkey.StoredResponse.Header;

/** Which header fields may be kept, and what a field may look like at all. */
final class HeaderRules {

    /** Belong to one connection (RFC 9110 §7.6.1), or to one moment, or are computed anew. */
    private static final Set<String> NEVER_KEPT = Set.of(
            "connection",
            "keep-alive",
            "proxy-connection",
            "te",
            "trailer",
            "transfer-encoding",
            "upgrade",
            "date",
            "server",
            "age",
            "content-length");

    /** Hand a session to whoever repeats the request. */
    private static final Set<String> COOKIES = Set.of("set-cookie", "set-cookie2");

    private HeaderRules() {}

    /** What a replay may repeat: all but hop-by-hop fields, moments, computed ones and, unless wanted, cookies. */
    static List<Header> keepable(List<Header> headers, boolean keepCookies) {
        Set<String> named = namedByConnection(headers);
        List<Header> kept = new ArrayList<>(headers.size());
        for (Header header : headers) {
            String name = header.name().toLowerCase(Locale.ROOT);
            if (!NEVER_KEPT.contains(name) && !named.contains(name) && (keepCookies || !COOKIES.contains(name))) {
                kept.add(header);
            }
        }
        return kept;
    }

    private static Set<String> namedByConnection(List<Header> headers) {
        Set<String> named = Set.of();
        for (Header header : headers) {
            if (header.name().equalsIgnoreCase("Connection")) {
                named = named.isEmpty() ? new HashSet<>() : named;
                for (String option : header.value().split(",", -1)) {
                    named.add(option.strip().toLowerCase(Locale.ROOT));
                }
            }
        }
        return named;
    }

    /** RFC 9110 §5.6.2. */
    static boolean isToken(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (!isTokenCharacter(text.charAt(i))) {
                return false;
            }
        }
        return !text.isEmpty();
    }

    static boolean isTokenCharacter(int c) {
        return (c >= '0' && c <= '9')
                || (c >= 'A' && c <= 'Z')
                || (c >= 'a' && c <= 'z')
                || "!#$%&'*+-.^_`|~".indexOf(c) >= 0;
    }

    /** The text with spaces for all that {@link #isFieldValue} forbids. */
    static String onOneLine(String text) {
        if (isFieldValue(text)) {
            return text;
        }
        char[] line = text.toCharArray();
        for (int i = 0; i < line.length; i++) {
            if (!isFieldCharacter(line[i])) {
                line[i] = ' ';
            }
        }
        return new String(line);
    }

    /** RFC 9110 §5.5, plus whatever a container's charset may make of non-ASCII characters. */
    static boolean isFieldValue(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (!isFieldCharacter(text.charAt(i))) {
                return false;
            }
        }
        return true;
    }

    private static boolean isFieldCharacter(char c) {
        return (c >= ' ' || c == '\t') && c != 0x7f;
    }
}
