// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import io.zonky.test.db.postgres.embedded.DefaultPostgresBinaryResolver;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.apache.commons.compress.compressors.xz.XZCompressorInputStream;

/** A directory with PostgreSQL's server programs: the ones that come with the build, or the machine's own. */
record PostgresPrograms(Path bin) {

    /** What failover needs of a server's programs. */
    static final List<String> NEEDED = List.of("initdb", "postgres", "pg_basebackup");

    /** Where they may be: Debian's layout and Homebrew's, a version each, and then whatever is on the PATH. */
    static final List<String> PLACES =
            List.of("/usr/lib/postgresql/*/bin", "/opt/homebrew/opt/*/bin", "/usr/local/opt/*/bin", "$PATH");

    /**
     * The embedded ones, unpacked once into {@code directory}.
     *
     * @throws FileNotFoundException if none come for this machine
     */
    static PostgresPrograms embedded(Path directory) throws IOException {
        Path home = directory.resolve("postgres-" + version());
        if (!Files.isDirectory(home)) {
            Files.createDirectories(directory);
            Path unpacked = Files.createTempDirectory(directory, "unpacking-");
            unpack(unpacked);
            try {
                Files.move(unpacked, home, StandardCopyOption.ATOMIC_MOVE);
            } catch (FileAlreadyExistsException | DirectoryNotEmptyException e) {
                // Another campaign was faster.
                Directories.delete(unpacked);
            }
        }
        return new PostgresPrograms(home.resolve("bin"));
    }

    private static InputStream archive() throws IOException {
        return DefaultPostgresBinaryResolver.INSTANCE.getPgBinary(
                System.getProperty("os.name").startsWith("Mac") ? "Darwin" : System.getProperty("os.name"),
                System.getProperty("os.arch").equals("amd64") ? "x86_64" : System.getProperty("os.arch"));
    }

    /** Tells one archive from another; its length is as good as a version here. */
    private static long version() throws IOException {
        try (InputStream archive = archive()) {
            return archive.skip(Long.MAX_VALUE);
        }
    }

    private static void unpack(Path directory) throws IOException {
        try (InputStream archive = archive();
                TarArchiveInputStream tar = new TarArchiveInputStream(new XZCompressorInputStream(archive))) {
            for (TarArchiveEntry entry = tar.getNextEntry(); entry != null; entry = tar.getNextEntry()) {
                Path path = directory.resolve(entry.getName()).normalize();
                if (!path.startsWith(directory)) {
                    throw new IOException("an entry that lies outside: " + entry.getName());
                }
                if (entry.isDirectory()) {
                    Files.createDirectories(path);
                    continue;
                }
                Files.createDirectories(path.getParent());
                if (entry.isSymbolicLink()) {
                    Files.createSymbolicLink(path, Path.of(entry.getLinkName()));
                } else {
                    Files.copy(tar, path);
                    if ((entry.getMode() & 0100) != 0 && !path.toFile().setExecutable(true)) {
                        throw new IOException("can't be made executable: " + path);
                    }
                }
            }
        }
    }

    /** The machine's newest ones, of this version at least, in any of {@link #PLACES}. */
    static Optional<PostgresPrograms> installed(int atLeast) throws IOException, InterruptedException {
        PostgresPrograms newest = null;
        int best = atLeast - 1;
        for (Path bin : candidates()) {
            if (NEEDED.stream().allMatch(name -> Files.isExecutable(bin.resolve(name)))) {
                PostgresPrograms programs = new PostgresPrograms(bin);
                int version = programs.majorVersion();
                if (version > best) {
                    best = version;
                    newest = programs;
                }
            }
        }
        return Optional.ofNullable(newest);
    }

    private static List<Path> candidates() throws IOException {
        List<Path> candidates = new ArrayList<>();
        for (String place : PLACES) {
            if (place.equals("$PATH")) {
                for (String entry : System.getenv().getOrDefault("PATH", "").split(File.pathSeparator, -1)) {
                    candidates.add(Path.of(entry));
                }
                continue;
            }
            Path parent = Path.of(place.substring(0, place.indexOf("/*")));
            if (Files.isDirectory(parent)) {
                try (Stream<Path> versions = Files.list(parent)) {
                    versions.map(version -> version.resolve("bin")).forEach(candidates::add);
                }
            }
        }
        return candidates;
    }

    /** What {@code postgres --version} says, 0 if it says nothing sensible. */
    private int majorVersion() throws IOException, InterruptedException {
        Process process = new ProcessBuilder(program("postgres"), "--version")
                .redirectErrorStream(true)
                .start();
        String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        Matcher matcher = Pattern.compile("PostgreSQL\\) (\\d+)").matcher(text);
        return process.waitFor() == 0 && matcher.find() ? Integer.parseInt(matcher.group(1)) : 0;
    }

    String program(String name) {
        return bin.resolve(name).toString();
    }
}
