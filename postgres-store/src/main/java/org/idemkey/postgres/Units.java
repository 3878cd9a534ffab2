// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;

/**
 * What the connections of one request have begun and neither committed nor rolled back: units of work, each with a
 * savepoint to return to, in the order in which they began. A later one lies within an earlier one, as savepoints do.
 *
 * <p>A savepoint costs a round trip, so one is set only where something ran since the last one. At first there is one
 * already: what the claim has set, or the beginning of the transaction itself.
 *
 * <p>Not thread-safe: used under its transaction's lock.
 */
final class Units {

    private static final String SAVEPOINT = "idemkey_unit_";

    /** Where the claim returns to: set in the round trip of its look-up. */
    static final String FIRST_SAVEPOINT = SAVEPOINT + 0;

    private final Connection physical;
    private final List<Unit> begun = new ArrayList<>();

    /** Savepoints idemkey_unit_0 to idemkey_unit_(levels - 1) exist. */
    private int levels = 1;

    /** The first of them is no savepoint but the transaction's beginning. */
    private boolean rooted;

    /** Something ran since the last of them was set. */
    private boolean dirty;

    /**
     * Takes over a transaction in which nothing of the handler's has run.
     *
     * @param rooted whether nothing else has run in it either: then it has no first savepoint, and needs none
     */
    Units(Connection physical, boolean rooted) {
        this.physical = physical;
        this.rooted = rooted;
    }

    /** One connection's uncommitted work. */
    static final class Unit {
        private final int level;
        private final boolean readOnly;
        private final Set<Savepoint> savepoints = Collections.newSetFromMap(new IdentityHashMap<>());
        private boolean suspect;
        private boolean undone;

        private Unit(int level, boolean readOnly) {
            this.level = level;
            this.readOnly = readOnly;
        }

        /** Something failed in it, which may have aborted the transaction. */
        void suspect() {
            suspect = true;
        }

        /** Whether an outer unit's rollback took it along. */
        boolean isUndone() {
            return undone;
        }

        void remember(Savepoint savepoint) {
            savepoints.add(savepoint);
        }

        boolean knows(Savepoint savepoint) {
            return savepoints.contains(savepoint);
        }

        void forget(Savepoint savepoint) {
            savepoints.remove(savepoint);
        }
    }

    /** Begins a unit within all that have begun. */
    Unit begin(boolean readOnly) throws SQLException {
        int level = begun.isEmpty() ? 0 : begun.get(begun.size() - 1).level + 1;
        if (dirty || readOnly || levels != level + 1) {
            boolean release = levels > level && !(level == 0 && rooted);
            run((release ? "RELEASE SAVEPOINT " + SAVEPOINT + level + ";" : "")
                    + ("SAVEPOINT " + SAVEPOINT + level)
                    + (readOnly ? ";SET TRANSACTION READ ONLY" : ""));
            levels = level + 1;
            dirty = readOnly;
            rooted = rooted && level > 0;
        }
        Unit unit = new Unit(level, readOnly);
        begun.add(unit);
        return unit;
    }

    /** Whether this is the unit that may execute something: none began after it that hasn't ended. */
    boolean isInnermost(Unit unit) {
        return begun.get(begun.size() - 1) == unit;
    }

    /** Something was executed in the innermost unit. */
    void executed() {
        dirty = true;
    }

    /**
     * Ends a unit whose work shall stay.
     *
     * @throws SQLException if PostgreSQL has aborted the transaction meanwhile: then the unit has been rolled back
     */
    void commit(Unit unit) throws SQLException {
        if (unit.suspect) {
            try {
                run("SELECT 1");
            } catch (SQLException e) {
                try {
                    rollback(unit);
                } catch (SQLException more) {
                    e.addSuppressed(more);
                }
                throw e;
            }
        }
        if (unit.readOnly) {
            // Or whoever goes on within the outer unit couldn't write.
            run("RELEASE SAVEPOINT " + SAVEPOINT + unit.level);
            levels = unit.level;
        }
        begun.remove(unit);
    }

    /** Undoes a unit's work, and that of all that began within it. */
    void rollback(Unit unit) throws SQLException {
        undoInner(unit);
        begun.remove(unit);
        if (unit.level == 0 && rooted) {
            physical.rollback();
        } else {
            run("ROLLBACK TO SAVEPOINT " + SAVEPOINT + unit.level);
        }
        levels = unit.level + 1;
        dirty = false;
    }

    /** Returns to a savepoint of the unit's own. */
    void rollback(Unit unit, Savepoint savepoint) throws SQLException {
        undoInner(unit);
        physical.rollback(savepoint);
        unit.suspect = false;
        // Our savepoints of inner units lay within it.
        levels = Math.min(levels, unit.level + 1);
        dirty = true;
    }

    private void undoInner(Unit unit) {
        int index = begun.indexOf(unit);
        List<Unit> inner = begun.subList(index + 1, begun.size());
        inner.forEach(each -> each.undone = true);
        inner.clear();
    }

    /**
     * What the transaction's last round trip begins with: it fails with SQLSTATE 3B001 if the handler has ended the
     * transaction behind our back.
     */
    String epilogue() {
        return levels > 0 && !rooted ? "RELEASE SAVEPOINT " + FIRST_SAVEPOINT + ";" : "";
    }

    private void run(String sql) throws SQLException {
        try (Statement statement = physical.createStatement()) {
            statement.execute(sql);
        }
    }
}
