// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * Two kinds of traffic in turns, in short rounds, so that whatever else the machine does meets both. Each pair of
 * rounds gives one ratio; who goes first changes from pair to pair.
 *
 * @param name {@code subject/twin}
 */
record Comparison(String name, Traffic subject, Traffic twin) {

    /**
     * How long to measure.
     *
     * @param turns how often all traffic takes its turn before anything counts: a JVM that still compiles measures its
     *     compiler
     * @param warmUp of each kind of traffic in each of these turns, and before its own rounds
     * @param rest how long to wait for the compiler at most, after each of these turns
     * @param pairs how many ratios are taken
     */
    record Effort(int turns, Duration warmUp, Duration rest, Duration round, int pairs) {}

    /** Runs it all over the connections of a load. */
    Result run(Load load, int connections, Effort effort) throws InterruptedException {
        load.run(twin, effort.warmUp());
        load.run(subject, effort.warmUp());
        List<Pair> pairs = new ArrayList<>();
        for (int i = 0; i < effort.pairs(); i++) {
            if (i % 2 == 0) {
                Load.Round before = load.run(twin, effort.round());
                pairs.add(new Pair(load.run(subject, effort.round()), before));
            } else {
                Load.Round before = load.run(subject, effort.round());
                pairs.add(new Pair(before, load.run(twin, effort.round())));
            }
        }
        return Result.of(name, connections, pairs);
    }

    /** Two rounds, one right after the other. */
    private record Pair(Load.Round subject, Load.Round twin) {

        double ratio() {
            return subject.perSecond() / twin.perSecond();
        }

        double p99Ratio() {
            return subject.p99() / twin.p99();
        }
    }

    /**
     * What came of it: medians over the pairs.
     *
     * @param ratio requests per second, subject to twin
     * @param low the lowest ratio of all pairs
     * @param high the highest one
     * @param p99Ratio the 99th percentile of the latency, subject to twin: more than 1 is slower
     */
    record Result(
            String name,
            int connections,
            double ratio,
            double low,
            double high,
            double p99Ratio,
            double perSecond,
            double twinPerSecond) {

        private static Result of(String name, int connections, List<Pair> pairs) {
            double[] ratios = sorted(pairs, Pair::ratio);
            return new Result(
                    name,
                    connections,
                    median(ratios),
                    ratios[0],
                    ratios[ratios.length - 1],
                    median(sorted(pairs, Pair::p99Ratio)),
                    median(sorted(pairs, pair -> pair.subject.perSecond())),
                    median(sorted(pairs, pair -> pair.twin.perSecond())));
        }
    }

    private static double[] sorted(List<Pair> pairs, ToDoubleFunction<Pair> value) {
        return pairs.stream().mapToDouble(value).sorted().toArray();
    }

    /** Of values in ascending order, one at least. */
    static double median(double[] sorted) {
        int half = sorted.length / 2;
        return sorted.length % 2 == 1
                ? sorted[half]
                : Arrays.stream(sorted, half - 1, half + 1).average().orElseThrow();
    }
}
