// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.nio.file.Path;

/** Where the server's programs are unpacked to, once for all tests. */
final class Programs {

    static final Path DIRECTORY = Path.of(System.getProperty("faults.directory", "target/campaign"), "programs")
            .toAbsolutePath();

    private Programs() {}
}
