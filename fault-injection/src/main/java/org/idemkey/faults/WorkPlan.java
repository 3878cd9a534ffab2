// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.util.SplittableRandom;

/** What one client does, made from the campaign's seed: the same sequence each time. Not thread-safe. */
final class WorkPlan {

    private final long seed;
    private final int client;
    private final SplittableRandom random;
    private int count;

    WorkPlan(long seed, int client) {
        this.seed = seed;
        this.client = client;
        // Far apart for neighbouring clients, and for neighbouring seeds.
        this.random = new SplittableRandom(new SplittableRandom(seed + 0x5DEECE66DL * (client + 1)).nextLong());
    }

    /** The next one, without end. */
    Intent next() {
        count++;
        return new Intent(
                "f" + Long.toUnsignedString(seed, 36) + "-" + client + "-" + count,
                client % 2 == 0 ? "sk_demo_alice" : "sk_demo_bob",
                random.nextLong(1, 1_000_000),
                source(random.nextInt(1000)),
                twist(random.nextInt(100)));
    }

    /** How long the client waits before its next one, in milliseconds. */
    long pause() {
        return random.nextLong(150);
    }

    private static String source(int permille) {
        if (permille < 50) {
            return "tok_declined";
        } else if (permille < 80) {
            return "tok_gateway_error";
        } else if (permille < 90) {
            return "tok_slow";
        }
        return "tok_visa";
    }

    private static Intent.Twist twist(int percent) {
        if (percent < 15) {
            return Intent.Twist.TWIN;
        } else if (percent < 30) {
            return Intent.Twist.LATE_REPEAT;
        } else if (percent < 36) {
            return Intent.Twist.REUSE;
        }
        return Intent.Twist.NONE;
    }
}
