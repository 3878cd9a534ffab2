// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** The temporary files of bodies that a process still has: by name, and on Linux also those that have none any more. */
final class OpenFiles {

    private OpenFiles() {}

    static List<String> ofBodies(long process) throws IOException {
        List<String> found = new ArrayList<>();
        try (Stream<Path> named = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
            named.map(Path::toString).filter(OpenFiles::isBody).forEach(found::add);
        }
        Path descriptors = Path.of("/proc", Long.toString(process), "fd");
        if (Files.isDirectory(descriptors)) {
            try (Stream<Path> open = Files.list(descriptors)) {
                for (Path descriptor : (Iterable<Path>) open::iterator) {
                    target(descriptor, found);
                }
            }
        }
        return found;
    }

    private static void target(Path descriptor, List<String> found) {
        try {
            String target = Files.readSymbolicLink(descriptor).toString();
            if (isBody(target)) {
                found.add(target);
            }
        } catch (IOException e) {
            // Closed in the meantime.
        }
    }

    private static boolean isBody(String path) {
        return path.contains("/idemkey-") && path.contains(".body");
    }

    static void assertNoneLeft() {
        await().untilAsserted(() ->
                assertThat(ofBodies(ProcessHandle.current().pid())).isEmpty());
    }
}
