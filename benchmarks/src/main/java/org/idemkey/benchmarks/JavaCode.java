// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordingFile;

/**
 * Whose Java code the serving threads were found in, by Flight Recorder's samples; what waits or is in the kernel is not
 * sampled. A method of the JDK counts as its caller's.
 *
 * @param samples of each owner
 */
record JavaCode(Map<Owner, Long> samples) {

    private static final String EVENT = "jdk.ExecutionSample";

    /** Whose code: the first whose pattern a type's name matches. */
    enum Owner {
        HANDLER("org\\.idemkey\\.benchmarks\\..*"),
        IDEMKEY("org\\.idemkey\\..*"),
        LIBRARIES("tools\\.jackson\\..*|org\\.apache\\.commons\\..*"),
        DRIVER_AND_POOL("org\\.postgresql\\..*|com\\.zaxxer\\..*"),
        CONTAINER("org\\.apache\\..*"),
        NOBODY(".*");

        private final String types;

        Owner(String types) {
            this.types = types;
        }

        private static Owner of(RecordedFrame frame) {
            String type = frame.getMethod().getType().getName();
            for (Owner owner : values()) {
                if (type.matches(owner.types)) {
                    return owner;
                }
            }
            return NOBODY;
        }

        private static Owner of(RecordedStackTrace stack) {
            return stack.getFrames().stream()
                    .map(Owner::of)
                    .filter(owner -> owner != NOBODY)
                    .findFirst()
                    .orElse(NOBODY);
        }
    }

    /** What is watched. */
    @FunctionalInterface
    interface Task {
        void run() throws IOException, InterruptedException;
    }

    /** Runs a task while Flight Recorder takes samples. */
    static JavaCode watch(Task task) throws IOException, InterruptedException {
        Path file = Files.createTempFile("idemkey-profile", ".jfr");
        try (Recording recording = new Recording()) {
            recording.enable(EVENT).withPeriod(Duration.ofMillis(10)).withStackTrace();
            recording.start();
            task.run();
            recording.stop();
            recording.dump(file);
            return of(RecordingFile.readAllEvents(file));
        } finally {
            Files.delete(file);
        }
    }

    private static JavaCode of(List<RecordedEvent> events) {
        Map<Owner, Long> samples = new EnumMap<>(Owner.class);
        for (RecordedEvent event : events) {
            RecordedStackTrace stack = event.getStackTrace();
            if (stack != null && event.getThread("sampledThread").getJavaName().startsWith("http-")) {
                samples.merge(Owner.of(stack), 1L, Long::sum);
            }
        }
        return new JavaCode(samples);
    }

    /** The share of one owner, 0 to 1. */
    double share(Owner owner) {
        long all = samples.values().stream().mapToLong(Long::longValue).sum();
        return all == 0 ? 0 : (double) samples.getOrDefault(owner, 0L) / all;
    }
}
