// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * How the sample API is started: small, and as fast as may be, since it is killed as soon as it is up. An archive of its
 * loaded classes (JEP 350) saves a good third of each start.
 */
final class SampleJvm {

    private static final List<String> FLAGS =
            List.of("-Xmx256m", "-Xss512k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto");

    private final Path jar;
    private final Path archive;

    /**
     * For this JVM and that jar.
     *
     * @param directory where the archive is kept
     */
    SampleJvm(Path jar, Path directory) {
        this.jar = jar;
        this.archive = directory.resolve("payments-api-" + Runtime.version().feature() + ".jsa");
    }

    /** Whether there is an archive of this jar; the JVM would ignore another one's. */
    boolean hasArchive() throws IOException {
        return Files.exists(archive)
                && Files.getLastModifiedTime(archive).compareTo(Files.getLastModifiedTime(jar)) > 0;
    }

    /** A command that leaves an archive when its process ends. */
    List<String> archiving() throws IOException {
        Files.deleteIfExists(archive);
        return java("-XX:ArchiveClassesAtExit=" + archive);
    }

    /** A command that takes the archive, if there is one. */
    List<String> command() throws IOException {
        return hasArchive() ? java("-XX:SharedArchiveFile=" + archive) : java();
    }

    private List<String> java(String... more) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(FLAGS);
        command.addAll(List.of(more));
        command.addAll(List.of("-jar", jar.toString()));
        return command;
    }
}
