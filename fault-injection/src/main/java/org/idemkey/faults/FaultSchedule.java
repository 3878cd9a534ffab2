// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;

/** Makes the list of faults from a seed: the same one for the same seed, duration and kinds, whatever the mode. */
final class FaultSchedule {

    /** On average one in 0.5 s: 360 in three minutes, of which those are left out that find their instance down. */
    private static final int SHORTEST_GAP = 280;

    private static final int LONGEST_GAP = 720;

    private FaultSchedule() {}

    /** Faults of all kinds. */
    static List<Fault> of(long seed, Duration duration) {
        return of(seed, duration, EnumSet.allOf(Fault.Kind.class));
    }

    /** Faults of these kinds, in the order of their times, all of them within the duration. */
    static List<Fault> of(long seed, Duration duration, Set<Fault.Kind> kinds) {
        SplittableRandom random = new SplittableRandom(seed);
        // In the order of the enum, which a set of another kind needn't keep.
        List<Fault.Kind> choice = new ArrayList<>(EnumSet.copyOf(kinds));
        int weights = choice.stream().mapToInt(kind -> kind.weight).sum();
        List<Fault> faults = new ArrayList<>();
        long at = 0;
        while (true) {
            at += random.nextInt(SHORTEST_GAP, LONGEST_GAP + 1);
            if (at >= duration.toMillis()) {
                return List.copyOf(faults);
            }
            Fault.Kind kind = pick(choice, random.nextInt(weights));
            faults.add(new Fault(
                    Duration.ofMillis(at),
                    kind,
                    random.nextInt(2),
                    Duration.ofMillis(random.nextLong(kind.shortest.toMillis(), kind.longest.toMillis() + 1)),
                    random.nextInt(Integer.MAX_VALUE)));
        }
    }

    private static Fault.Kind pick(List<Fault.Kind> choice, int weight) {
        int left = weight;
        for (Fault.Kind kind : choice) {
            left -= kind.weight;
            if (left < 0) {
                return kind;
            }
        }
        throw new AssertionError("the weights' sum is larger than " + weight);
    }
}
