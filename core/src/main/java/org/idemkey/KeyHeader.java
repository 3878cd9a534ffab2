// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import static java.util.Objects.requireNonNull;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.IntPredicate;

/**
 * Reads the key out of its header field: an RFC 9651 String ({@code "8e03…"}) or, unless strict, the bare value
 * ({@code 8e03…}), which is what most clients send.
 *
 * <p>The first character alone decides which of the two it is: a bare UUID would be an Integer or a Token to a general
 * parser, by its first digit.
 */
public final class KeyHeader {

    private final String line;
    private int at;

    private KeyHeader(String line) {
        this.line = line;
    }

    /**
     * The key, unquoted and with its escapes undone.
     *
     * @param fieldLines every line of the header field, in order
     * @param strict whether only a quoted String will do
     * @return 1 to {@value IdempotencyKey#MAX_LENGTH} characters of %x20–7E
     * @throws MalformedException if there isn't exactly one line, or it isn't exactly one key
     */
    public static String parse(List<String> fieldLines, boolean strict) {
        if (requireNonNull(fieldLines, "fieldLines").size() != 1) {
            throw new MalformedException("it must be sent once, not " + fieldLines.size() + " times");
        }
        String key = new KeyHeader(fieldLines.get(0)).item(strict);
        if (key.isEmpty()) {
            throw new MalformedException("it is empty");
        }
        if (key.length() > IdempotencyKey.MAX_LENGTH) {
            throw new MalformedException("it has more than " + IdempotencyKey.MAX_LENGTH + " characters");
        }
        return key;
    }

    private String item(boolean strict) {
        skipSpaces();
        if (peek() == '"') {
            String key = string();
            parameters();
            skipSpaces();
            if (at < line.length()) {
                throw new MalformedException("something follows the quoted value");
            }
            return key;
        }
        if (strict && at < line.length()) {
            throw new MalformedException("it is not a quoted string");
        }
        return bare();
    }

    private String bare() {
        int end = line.length();
        while (end > at && line.charAt(end - 1) == ' ') {
            end--;
        }
        String key = line.substring(at, end);
        for (int i = 0; i < key.length(); i++) {
            char c = key.charAt(i);
            if (c <= ' ' || c > '~' || c == '"' || c == ',') {
                throw new MalformedException("character " + (i + 1) + " is not allowed in an unquoted value");
            }
        }
        return key;
    }

    /** RFC 9651 §4.2.5. */
    private String string() {
        at++;
        StringBuilder text = new StringBuilder(40);
        while (at < line.length()) {
            char c = line.charAt(at++);
            if (c == '"') {
                return text.toString();
            }
            if (c == '\\') {
                c = peek();
                if (c != '"' && c != '\\') {
                    throw new MalformedException("only \\\" and \\\\ are escapes");
                }
                at++;
            } else if (c < ' ' || c > '~') {
                throw new MalformedException("character " + at + " is not printable ASCII");
            }
            text.append(c);
        }
        throw new MalformedException("the quote is not closed");
    }

    /** RFC 9651 §4.2.3.2; well-formed parameters are checked and ignored. */
    private void parameters() {
        while (peek() == ';') {
            at++;
            skipSpaces();
            if (!isLower(peek()) && peek() != '*') {
                throw malformedParameter();
            }
            skipWhile(c -> isLower(c) || isDigit(c) || "_-.*".indexOf(c) >= 0);
            if (peek() == '=') {
                at++;
                bareItem();
            }
        }
    }

    /** RFC 9651 §4.2.3.1. */
    private void bareItem() {
        char first = peek();
        if (first == '"') {
            string();
        } else if (first == '-' || isDigit(first)) {
            number(true);
        } else if (first == ':') {
            byteSequence();
        } else if (first == '?') {
            at++;
            if (peek() != '0' && peek() != '1') {
                throw malformedParameter();
            }
            at++;
        } else if (first == '@') {
            at++;
            number(false);
        } else if (first == '%') {
            displayString();
        } else if (isAlpha(first) || first == '*') {
            skipWhile(c -> c == ':' || c == '/' || HeaderRules.isTokenCharacter(c));
        } else {
            throw malformedParameter();
        }
    }

    /** RFC 9651 §4.2.4: 15 digits, or 12 with up to three decimals. */
    private void number(boolean decimals) {
        if (peek() == '-') {
            at++;
        }
        int whole = skipWhile(KeyHeader::isDigit);
        boolean tooLong = whole > 15;
        if (decimals && peek() == '.') {
            at++;
            int fraction = skipWhile(KeyHeader::isDigit);
            tooLong = whole > 12 || fraction < 1 || fraction > 3;
        } else if (peek() == '.') {
            throw malformedParameter();
        }
        if (whole < 1 || tooLong) {
            throw malformedParameter();
        }
    }

    /** RFC 9651 §4.2.7; padding is not asked for, as parsers should not. */
    private void byteSequence() {
        at++;
        int symbols = skipWhile(c -> isAlpha(c) || isDigit(c) || c == '+' || c == '/');
        int padding = skipWhile(c -> c == '=');
        if (peek() != ':' || symbols % 4 == 1 || padding > 2 || (padding > 0 && (symbols + padding) % 4 != 0)) {
            throw malformedParameter();
        }
        at++;
    }

    /** RFC 9651 §4.2.10: percent-encoded UTF-8 within quotes. */
    private void displayString() {
        at++;
        if (peek() != '"') {
            throw malformedParameter();
        }
        at++;
        ByteArrayOutputStream utf8 = new ByteArrayOutputStream();
        while (peek() != '"') {
            char c = peek();
            if (c < ' ' || c > '~') {
                throw malformedParameter();
            }
            at++;
            if (c == '%') {
                utf8.write(16 * lowerHexDigit() + lowerHexDigit());
            } else {
                utf8.write(c);
            }
        }
        at++;
        try {
            StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(utf8.toByteArray()));
        } catch (CharacterCodingException e) {
            throw malformedParameter();
        }
    }

    private int lowerHexDigit() {
        int digit = "0123456789abcdef".indexOf(peek());
        if (digit < 0) {
            throw malformedParameter();
        }
        at++;
        return digit;
    }

    private void skipSpaces() {
        skipWhile(c -> c == ' ');
    }

    private int skipWhile(IntPredicate wanted) {
        int from = at;
        while (at < line.length() && wanted.test(line.charAt(at))) {
            at++;
        }
        return at - from;
    }

    /** The next character, or NUL at the end, which no rule allows anywhere. */
    private char peek() {
        return at < line.length() ? line.charAt(at) : '\0';
    }

    private static MalformedException malformedParameter() {
        return new MalformedException("a parameter after the quoted value is malformed");
    }

    private static boolean isDigit(int c) {
        return c >= '0' && c <= '9';
    }

    private static boolean isLower(int c) {
        return c >= 'a' && c <= 'z';
    }

    private static boolean isAlpha(int c) {
        return isLower(c) || (c >= 'A' && c <= 'Z');
    }

    /** The header field holds no key. The message says why in words that fit a problem document, without the value. */
    public static final class MalformedException extends RuntimeException {

        private static final long serialVersionUID = 1L;

        MalformedException(String message) {
            super(message, null, false, false);
        }
    }
}
