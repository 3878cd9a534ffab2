// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.time.Duration;

/**
 * The JVM's compiler, which works beside whatever is measured, and has more to do the more code is new: what is protected
 * would be charged with it, and its twin hardly.
 */
final class Compiler {

    private static final CompilationMXBean BEAN = ManagementFactory.getCompilationMXBean();

    /** It is taken to be done when it has finished nothing for so long. */
    private static final Duration QUIET = Duration.ofMillis(250);

    private Compiler() {}

    /** Leaves it the processors until it is done, but not longer than {@code most}. */
    static void catchUp(Duration most) throws InterruptedException {
        long deadline = System.nanoTime() + most.toNanos();
        long before = -1;
        for (long now = BEAN.getTotalCompilationTime();
                now > before && System.nanoTime() - deadline < 0;
                now = BEAN.getTotalCompilationTime()) {
            before = now;
            Thread.sleep(QUIET.toMillis());
        }
    }
}
