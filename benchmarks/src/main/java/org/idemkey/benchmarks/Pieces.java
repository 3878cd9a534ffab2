// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import static java.util.Objects.requireNonNull;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Runs the parts by themselves, with JMH, each in a JVM of its own. */
final class Pieces {

    private Pieces() {}

    /**
     * What one call of a part takes.
     *
     * @param nanos its time
     * @param bytes what it allocates
     */
    record Cost(String name, double nanos, double nanosError, double bytes) {}

    static List<Cost> run() throws RunnerException {
        Collection<RunResult> results = new Runner(new OptionsBuilder()
                        .include(EnginePieces.class.getName())
                        .include(FilterPieces.class.getName())
                        .forks(1)
                        .warmupIterations(6)
                        .warmupTime(TimeValue.milliseconds(900))
                        .measurementIterations(10)
                        .measurementTime(TimeValue.milliseconds(400))
                        .addProfiler(GCProfiler.class)
                        .verbosity(VerboseMode.SILENT)
                        .shouldFailOnError(true)
                        .build())
                .run();
        List<Cost> costs = new ArrayList<>();
        for (RunResult result : results) {
            String name = result.getPrimaryResult().getLabel();
            String bytes = result.getParams().getParam("bytes");
            costs.add(new Cost(
                    bytes == null ? name : name + ", " + bytes + " bytes",
                    result.getPrimaryResult().getScore(),
                    result.getPrimaryResult().getScoreError(),
                    requireNonNull(result.getSecondaryResults().get("gc.alloc.rate.norm"), "the gc profiler's figure")
                            .getScore()));
        }
        return costs;
    }
}
