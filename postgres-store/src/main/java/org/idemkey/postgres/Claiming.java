// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.sql.SQLException;
import java.time.Duration;
import java.util.OptionalInt;
import java.util.UUID;
import java.util.function.Consumer;
import org.idemkey.Claim;
import org.idemkey.IdempotencyStoreException;
import org.idemkey.StoredResponse;
import org.idemkey.postgres.KeyTable.Request;
import org.idemkey.postgres.KeyTable.Seen;
import org.jspecify.annotations.Nullable;

/**
 * How a key is claimed: look and insert in one statement, and act on what was seen by compare-and-set on its token. Who
 * was too late looks again, in a new statement with a new snapshot.
 *
 * <table>
 * <caption>What is seen, the first that fits</caption>
 * <tr><td>our own token</td><td>acquired, by this statement or by one whose answer was lost</td></tr>
 * <tr><td>expired</td><td>claimed anew, or look again</td></tr>
 * <tr><td>another fingerprint</td><td>mismatched</td></tr>
 * <tr><td>a response</td><td>completed</td></tr>
 * <tr><td>a live lease</td><td>in progress</td></tr>
 * <tr><td>lapsed, joined, not confirmed</td><td>claimed anew with {@code attempt + 1}, or look again</td></tr>
 * <tr><td>lapsed</td><td>unknown outcome, if a look under a lock confirms it</td></tr>
 * <tr><td>nothing, and nothing inserted</td><td>look again</td></tr>
 * </table>
 */
final class Claiming {

    /** Looks at one key, each of which somebody else was faster than. In life, two is much. */
    private static final int LOOKS = 100;

    private final Jdbc jdbc;
    private final KeyTable table;
    private final SharedStatements shared;
    private final Consumer<Request> orphanage;

    /**
     * Claims keys in a table.
     *
     * @param orphanage is handed each request whose claim may have been made, though its owner will never hear of it
     */
    Claiming(Jdbc jdbc, KeyTable table, SharedStatements shared, Consumer<Request> orphanage) {
        this.jdbc = jdbc;
        this.table = table;
        this.shared = shared;
        this.orphanage = orphanage;
    }

    Claim claim(Request request) throws SQLException {
        return twice(request, () -> lookAndClaim(request), orphanage);
    }

    /** Claims what a lapsed claim has left, if it is still the key's; else what there is now. */
    Claim takeOver(Request request, UUID stale) throws SQLException {
        return twice(
                request,
                () -> {
                    Claim taken = acquired(request, jdbc.call(c -> table.claimLapsed(c, request, stale)));
                    return taken == null ? lookAndClaim(request) : taken;
                    // Freeing what was taken over would make an unknown outcome look like none: it lapses again
                    // instead.
                },
                orphan -> {});
    }

    @FunctionalInterface
    private interface Question {
        Claim ask() throws SQLException;
    }

    /** Asks, and looks again if the connection broke: if the first try did claim, its token is recognised. */
    private Claim twice(Request request, Question question, Consumer<Request> orphanage) throws SQLException {
        try {
            return answer(question);
        } catch (SQLException e) {
            if (!Jdbc.isBroken(e)) {
                throw e;
            }
            boolean recognised = false;
            try {
                Claim claim = answer(() -> lookAndClaim(request));
                recognised = claim instanceof Claim.Acquired;
                return claim;
            } finally {
                if (!recognised) {
                    orphanage.accept(request);
                }
            }
        }
    }

    private static Claim answer(Question question) throws SQLException {
        try {
            return question.ask();
        } catch (SQLException e) {
            if (Jdbc.isLockTimeout(e)) {
                // Somebody is claiming, confirming or completing at this very moment.
                return new Claim.InProgress(Duration.ZERO);
            }
            throw e;
        }
    }

    private Claim lookAndClaim(Request request) throws SQLException {
        for (int looks = 0; looks < LOOKS; looks++) {
            try {
                Seen row = shared.claim(request).orElse(null);
                Claim claim = row == null ? null : judge(request, row);
                if (claim != null) {
                    return claim;
                }
            } catch (SQLException e) {
                if (!Jdbc.isLostRace(e)) {
                    throw e;
                }
            }
        }
        throw new IdempotencyStoreException(
                "key " + request.key() + " has a row that can't be seen, or changed hands " + LOOKS + " times", null);
    }

    /** What a row means to the one who asks; null if it has changed since, so that it has to be looked at again. */
    private @Nullable Claim judge(Request request, Seen row) throws SQLException {
        if (row.token().equals(request.token())) {
            return acquired(request, OptionalInt.of(row.attempt()));
        }
        if (row.expired()) {
            return acquired(request, jdbc.call(c -> table.claimExpired(c, request, row.token())));
        }
        if (row.isLapsed() && isSame(request, row)) {
            return row.leftNothing()
                    ? acquired(request, jdbc.call(c -> table.claimLapsed(c, request, row.token())))
                    : lapsed(request);
        }
        return told(request, row);
    }

    /**
     * A lapsed claim may be one whose owner is confirming right now: its row is locked then, so it isn't renewed. Only
     * what is seen under a lock is unknown.
     */
    private @Nullable Claim lapsed(Request request) throws SQLException {
        Seen row = jdbc.call(c -> table.look(c, request.key())).orElse(null);
        return row == null || row.expired() || row.leftNothing() ? null : told(request, row);
    }

    private Claim told(Request request, Seen row) {
        StoredResponse response = row.response();
        if (!isSame(request, row)) {
            return new Claim.Mismatched();
        } else if (response != null) {
            return new Claim.Completed(response);
        } else if (row.isLapsed()) {
            PostgresLease stale = new PostgresLease(table, request.key(), row.token(), row.attempt());
            return new Claim.OutcomeUnknown(stale, row.confirmed());
        }
        return new Claim.InProgress(row.remaining());
    }

    private static boolean isSame(Request request, Seen row) {
        return row.requestHash().equals(request.fingerprint().hex());
    }

    private @Nullable Claim acquired(Request request, OptionalInt attempt) {
        return attempt.isEmpty()
                ? null
                : new Claim.Acquired(new PostgresLease(table, request.key(), request.token(), attempt.getAsInt()));
    }
}
