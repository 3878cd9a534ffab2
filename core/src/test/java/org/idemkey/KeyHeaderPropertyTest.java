// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tuple;

/** The parser against the grammar of RFC 9651, written down a second time as regular expressions. */
class KeyHeaderPropertyTest {

    private static final String STRING = "\"(?:[\\x20\\x21\\x23-\\x5b\\x5d-\\x7e]|\\\\[\"\\\\])*\"";
    private static final String DISPLAY = "%\"(?:[\\x20\\x21\\x23\\x24\\x26-\\x7e]|%[0-9a-f]{2})*\"";
    private static final String BASE64 = "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?";
    private static final String BARE_ITEM = String.join(
            "|",
            "-?[0-9]{1,12}\\.[0-9]{1,3}",
            "-?[0-9]{1,15}",
            STRING,
            "[A-Za-z*][!#$%&'*+\\-.^_`|~0-9A-Za-z:/]*",
            ":" + BASE64 + ":",
            "\\?[01]",
            "@-?[0-9]{1,15}",
            DISPLAY);
    private static final String PARAMETER = "; *[a-z*][a-z0-9_\\-.*]*(?:=(?:" + BARE_ITEM + "))?";
    private static final Pattern ITEM = Pattern.compile(" *(?<value>" + STRING + ")(?:" + PARAMETER + ")* *");
    private static final Pattern DISPLAY_STRING = Pattern.compile("(?:" + STRING + ")|(?<display>" + DISPLAY + ")");
    private static final Pattern BARE_KEY = Pattern.compile(" *(?<value>[\\x21\\x23-\\x2b\\x2d-\\x7e]+) *");

    @Property(tries = 60_000)
    void quotedLinesAreJudgedAsTheGrammarDoes(@ForAll("lines") String line) {
        assertThat(parsed(line, true)).isEqualTo(byGrammar(line));
    }

    @Property(tries = 40_000)
    void lenientModeAddsBareValuesAndChangesNothingElse(@ForAll("lines") String line) {
        Optional<String> expected = line.stripLeading().startsWith("\"") && !startsWithOtherSpace(line)
                ? byGrammar(line)
                : Optional.of(BARE_KEY.matcher(line)).filter(Matcher::matches).map(match -> match.group("value"));
        assertThat(parsed(line, false)).isEqualTo(expected.filter(KeyHeaderPropertyTest::hasAllowedLength));
    }

    private static boolean startsWithOtherSpace(String line) {
        return !line.replaceFirst("^ +", "").startsWith("\"");
    }

    /** Anything but the parser's own exception fails the property. */
    private static Optional<String> parsed(String line, boolean strict) {
        try {
            return Optional.of(KeyHeader.parse(List.of(line), strict));
        } catch (KeyHeader.MalformedException e) {
            return Optional.empty();
        }
    }

    private static Optional<String> byGrammar(String line) {
        Matcher item = ITEM.matcher(line);
        if (!item.matches() || !displayStringsAreUtf8(line.substring(item.end("value")))) {
            return Optional.empty();
        }
        String quoted = item.group("value");
        String value = quoted.substring(1, quoted.length() - 1).replaceAll("\\\\(.)", "$1");
        return Optional.of(value).filter(KeyHeaderPropertyTest::hasAllowedLength);
    }

    private static boolean hasAllowedLength(String key) {
        return !key.isEmpty() && key.length() <= 255;
    }

    /** What a regular expression can't say: the octets of a Display String are UTF-8. */
    private static boolean displayStringsAreUtf8(String parameters) {
        for (Matcher match = DISPLAY_STRING.matcher(parameters); match.find(); ) {
            String display = match.group("display");
            if (display != null && !isUtf8(display.substring(2, display.length() - 1))) {
                return false;
            }
        }
        return true;
    }

    private static boolean isUtf8(String percentEncoded) {
        ByteBuffer octets = ByteBuffer.allocate(percentEncoded.length());
        for (int i = 0; i < percentEncoded.length(); i++) {
            char c = percentEncoded.charAt(i);
            if (c == '%') {
                octets.put((byte) Integer.parseInt(percentEncoded.substring(i + 1, i + 3), 16));
                i += 2;
            } else {
                octets.put((byte) c);
            }
        }
        try {
            StandardCharsets.UTF_8.newDecoder().decode(octets.flip());
            return true;
        } catch (CharacterCodingException e) {
            return false;
        }
    }

    @Provide
    Arbitrary<String> lines() {
        return Arbitraries.frequencyOf(
                Tuple.of(4, items()),
                Tuple.of(4, damaged(items())),
                Tuple.of(2, ofTellingCharacters(12)),
                Tuple.of(1, Arbitraries.strings().ofMaxLength(12)),
                Tuple.of(1, ofTellingCharacters(270)));
    }

    private static Arbitrary<String> ofTellingCharacters(int length) {
        return Arbitraries.strings()
                .withChars("\"\\;=,:?@%*-._/+ \t\u0000\u007f\u00e9abfzAZ0189c")
                .ofMaxLength(length);
    }

    private static Arbitrary<String> items() {
        Arbitrary<String> spaces = Arbitraries.strings().withChars(' ').ofMaxLength(2);
        return Combinators.combine(spaces, quoted(), parameters(), spaces)
                .as((before, value, parameters, after) -> before + value + parameters + after);
    }

    private static Arbitrary<String> quoted() {
        return Arbitraries.oneOf(
                        Arbitraries.chars()
                                .range(' ', '~')
                                .filter(c -> c != '"' && c != '\\')
                                .map(String::valueOf),
                        Arbitraries.of("\\\"", "\\\\"))
                .list()
                .ofMaxSize(40)
                .map(parts -> '"' + String.join("", parts) + '"');
    }

    private static Arbitrary<String> parameters() {
        Arbitrary<String> name =
                Arbitraries.strings().withChars("ab*z").ofMinLength(1).ofMaxLength(3);
        Arbitrary<String> value = Arbitraries.oneOf(
                Arbitraries.longs()
                        .between(-999_999_999_999_999L, 9_999_999_999_999_999L)
                        .map(String::valueOf),
                Arbitraries.bigDecimals().ofScale(3).map(number -> number.toPlainString()),
                quoted(),
                Arbitraries.of("tok/en:x", "*", "a-b", "?0", "?1", "?2", "@17", "@-17", "@1.5", "(1)", ""),
                Arbitraries.strings().withChars("aB1+/=").ofMaxLength(9).map(text -> ':' + text + ':'),
                Arbitraries.strings().withChars("ac3%b\"").ofMaxLength(7).map(text -> "%\"" + text + '"'),
                Arbitraries.of("%\"f%c3%bc\"", "%\"%ff\"", "%\"%f0%9f%98%80\""));
        Arbitrary<String> parameter = Combinators.combine(Arbitraries.of(";", "; ", ";  "), name, value.optional())
                .as((separator, key, content) ->
                        separator + key + content.map(text -> '=' + text).orElse(""));
        return parameter.list().ofMaxSize(3).map(all -> String.join("", all));
    }

    /** One character put in, taken out or replaced: close to the edges of the grammar. */
    private static Arbitrary<String> damaged(Arbitrary<String> lines) {
        Arbitrary<String> inserts = Arbitraries.oneOf(Arbitraries.just(""), ofTellingCharacters(1));
        return Combinators.combine(lines, Arbitraries.integers().between(0, 300), Arbitraries.of(0, 1), inserts)
                .as((line, place, removed, inserted) -> {
                    int at = place % (line.length() + 1);
                    return line.substring(0, at) + inserted + line.substring(Math.min(line.length(), at + removed));
                });
    }
}
