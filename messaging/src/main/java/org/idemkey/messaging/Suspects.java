// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Aggregates whose next event was not acknowledged, each with the time from which it may be tried again. Meanwhile they
 * don't hold up anybody else, however much has piled up behind them.
 */
final class Suspects {

    /** An aggregate that isn't met for so long after its time was published by another relay, or removed. */
    private static final long FORGOTTEN_NANOS = Duration.ofMinutes(1).toNanos();

    private record Suspect(int failures, long from) {}

    private final BackOff backOff;
    private final Map<Aggregate, Suspect> suspects = new HashMap<>();

    Suspects(BackOff backOff) {
        this.backOff = backOff;
    }

    /**
     * An event failed: its aggregate waits, for longer than the last time.
     *
     * @return whether this aggregate was not suspected before
     */
    boolean add(Aggregate aggregate) {
        Suspect before = suspects.get(aggregate);
        int failures = before == null ? 1 : before.failures + 1;
        suspects.put(aggregate, new Suspect(failures, System.nanoTime() + backOff.nanosAfter(failures)));
        return before == null;
    }

    /** An event was acknowledged: its aggregate is as good as any other. */
    void clear(Aggregate aggregate) {
        suspects.remove(aggregate);
    }

    /** The broker is back: all may be tried at once, but those that fail again are known. */
    void forgive() {
        long now = System.nanoTime();
        suspects.replaceAll((aggregate, suspect) -> new Suspect(suspect.failures, now));
    }

    /** Those to be passed over now. */
    Collection<Aggregate> waiting() {
        if (suspects.isEmpty()) {
            return List.of();
        }
        long now = System.nanoTime();
        suspects.values().removeIf(suspect -> now - suspect.from > FORGOTTEN_NANOS);
        return suspects.entrySet().stream()
                .filter(entry -> entry.getValue().from - now > 0)
                .map(Map.Entry::getKey)
                .toList();
    }

    /** Nanoseconds until the first of them may be tried again, but no more than {@code most}. */
    long nanosToNext(long most) {
        long now = System.nanoTime();
        return suspects.values().stream()
                .mapToLong(suspect -> suspect.from - now)
                .filter(nanos -> nanos > 0)
                .reduce(most, Math::min);
    }
}
