// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Predicate;
import org.idemkey.servlet.FuzzOperation.Kind;

/**
 * A random handler: response calls in any legal and illegal order.
 *
 * @param async whether they are made on another thread, which completes at their end
 */
record FuzzProgram(boolean async, List<FuzzOperation> operations) {

    static final List<Integer> ERRORS = List.of(400, 404, 418, 500, 503);

    static FuzzProgram random(long seed) {
        return new FuzzMaker(new SplittableRandom(seed)).program();
    }

    boolean contains(Kind kind) {
        return contains(operations, kind);
    }

    private static boolean contains(List<FuzzOperation> operations, Kind kind) {
        return operations.stream().anyMatch(each -> each.kind() == kind || contains(each.inner(), kind));
    }

    /** The least of it for which the same holds: nothing can be left out. */
    FuzzProgram shrunk(Predicate<FuzzProgram> fails) {
        for (FuzzProgram less : smaller()) {
            if (fails.test(less)) {
                return less.shrunk(fails);
            }
        }
        return this;
    }

    private List<FuzzProgram> smaller() {
        List<FuzzProgram> all = new ArrayList<>();
        if (async) {
            all.add(new FuzzProgram(false, operations));
        }
        for (List<FuzzOperation> fewer : smaller(operations)) {
            all.add(new FuzzProgram(async, fewer));
        }
        return all;
    }

    private static List<List<FuzzOperation>> smaller(List<FuzzOperation> operations) {
        List<List<FuzzOperation>> all = new ArrayList<>();
        for (int i = 0; i < operations.size(); i++) {
            List<FuzzOperation> without = new ArrayList<>(operations);
            FuzzOperation left = without.remove(i);
            all.add(without);
            for (List<FuzzOperation> inner : smaller(left.inner())) {
                if (!inner.isEmpty()) {
                    List<FuzzOperation> within = new ArrayList<>(operations);
                    within.set(i, left.with(inner));
                    all.add(within);
                }
            }
        }
        return all;
    }

    @Override
    public String toString() {
        return (async ? "on another thread " : "") + operations;
    }
}
