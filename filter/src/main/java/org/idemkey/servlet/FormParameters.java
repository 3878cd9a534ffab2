// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import java.io.ByteArrayOutputStream;
import java.nio.charset.Charset;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The parameters of a form in a body (Servlet 6.1 §3.1), which the container has lost with the body. */
final class FormParameters {

    static final String MEDIA_TYPE = "application/x-www-form-urlencoded";

    private final Map<String, List<String>> values = new LinkedHashMap<>();

    void add(String name, String value) {
        values.computeIfAbsent(name, n -> new ArrayList<>(1)).add(value);
    }

    Set<String> names() {
        return values.keySet();
    }

    /** All values of that name, in order; empty if there are none. */
    List<String> of(String name) {
        return values.getOrDefault(name, List.of());
    }

    /**
     * Adds all pairs of a form.
     *
     * @throws IllegalArgumentException if an escape is broken and {@code strict} is true; otherwise that pair is left out
     */
    void addForm(byte[] form, Charset charset, boolean strict) {
        int from = 0;
        while (from < form.length) {
            int end = indexOf('&', form, from, form.length);
            if (end > from) {
                int equals = indexOf('=', form, from, end);
                try {
                    String name = decode(form, from, equals, charset);
                    add(name, equals < end ? decode(form, equals + 1, end, charset) : "");
                } catch (IllegalArgumentException e) {
                    if (strict) {
                        throw e;
                    }
                }
            }
            from = end + 1;
        }
    }

    private static int indexOf(char wanted, byte[] bytes, int from, int end) {
        int i = from;
        while (i < end && bytes[i] != wanted) {
            i++;
        }
        return i;
    }

    private static String decode(byte[] form, int from, int end, Charset charset) {
        ByteArrayOutputStream decoded = new ByteArrayOutputStream(end - from);
        for (int i = from; i < end; i++) {
            if (form[i] == '+') {
                decoded.write(' ');
            } else if (form[i] == '%') {
                if (i + 2 >= end) {
                    throw new IllegalArgumentException("a broken escape in a form");
                }
                decoded.write(16 * hex(form[i + 1]) + hex(form[i + 2]));
                i += 2;
            } else {
                decoded.write(form[i]);
            }
        }
        return decoded.toString(charset);
    }

    private static int hex(byte digit) {
        int value = Character.digit(digit, 16);
        if (value < 0) {
            throw new IllegalArgumentException("a broken escape in a form");
        }
        return value;
    }
}
