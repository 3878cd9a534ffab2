// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.sql.SQLException;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Finds statements that would end or begin a transaction as text. On the request's connection they would commit the
 * effect without its key.
 */
final class TransactionControl {

    /** White space, comments and stray semicolons; then up to three words. Possessive, so that no input is slow. */
    private static final Pattern START = Pattern.compile("(?:\\s++|--[^\\n]*+|/\\*(?:[^*]|\\*(?!/))*+\\*/|;)*+"
            + "([a-zA-Z]++)(?:\\s++([a-zA-Z]++))?+(?:\\s++([a-zA-Z]++))?+");

    private TransactionControl() {}

    /**
     * Looks at a text's first statement only: a transaction that is ended further on is found out when the response is
     * recorded.
     *
     * @throws SQLException if it is such a statement
     */
    static void refuse(String sql) throws SQLException {
        Matcher words = START.matcher(sql);
        if (words.lookingAt() && controls(word(words, 1), word(words, 2), word(words, 3))) {
            throw new SQLException(
                    "the request's transaction can't be controlled by SQL text: use the connection's methods", "2D000");
        }
    }

    private static boolean controls(String first, String second, String third) {
        return switch (first) {
            case "BEGIN", "START", "COMMIT", "END", "ABORT" -> true;
            case "PREPARE" -> second.equals("TRANSACTION");
            case "ROLLBACK" -> !second.equals("TO") && !third.equals("TO");
            default -> false;
        };
    }

    private static String word(Matcher words, int group) {
        String word = words.group(group);
        return word == null ? "" : word.toUpperCase(Locale.ROOT);
    }
}
