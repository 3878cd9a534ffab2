// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.CodingErrorAction;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The parameters of a form in a body (Servlet 6.1 §3.1), which the container has lost with the body. */
final class FormParameters {

    static final String MEDIA_TYPE = "application/x-www-form-urlencoded";

    /** The form can't be read, which is the client's fault (Servlet 6.1 §3.1). */
    static final class BrokenFormException extends IllegalStateException {

        private static final long serialVersionUID = 1L;

        BrokenFormException() {
            super("the form's parameters can't be parsed");
        }
    }

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
     * @param strict whether a broken form is refused; otherwise a pair with a broken escape is left out, and bytes that
     *     are no text are replaced
     * @throws BrokenFormException if it is refused
     */
    void addForm(byte[] form, Charset charset, boolean strict) {
        int from = 0;
        while (from < form.length) {
            int end = indexOf('&', form, from, form.length);
            if (end > from) {
                int equals = indexOf('=', form, from, end);
                try {
                    String name = decode(form, from, equals, charset, strict);
                    add(name, equals < end ? decode(form, equals + 1, end, charset, strict) : "");
                } catch (BrokenFormException e) {
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

    private static String decode(byte[] form, int from, int end, Charset charset, boolean strict) {
        ByteArrayOutputStream decoded = new ByteArrayOutputStream(end - from);
        for (int i = from; i < end; i++) {
            if (form[i] == '+') {
                decoded.write(' ');
            } else if (form[i] == '%') {
                if (i + 2 >= end) {
                    throw new BrokenFormException();
                }
                decoded.write(16 * hex(form[i + 1]) + hex(form[i + 2]));
                i += 2;
            } else {
                decoded.write(form[i]);
            }
        }
        CodingErrorAction onError = strict ? CodingErrorAction.REPORT : CodingErrorAction.REPLACE;
        try {
            return charset.newDecoder()
                    .onMalformedInput(onError)
                    .onUnmappableCharacter(onError)
                    .decode(ByteBuffer.wrap(decoded.toByteArray()))
                    .toString();
        } catch (CharacterCodingException e) {
            throw new BrokenFormException();
        }
    }

    private static int hex(byte digit) {
        int value = Character.digit(digit, 16);
        if (value < 0) {
            throw new BrokenFormException();
        }
        return value;
    }
}
