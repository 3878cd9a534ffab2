// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIOException;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.io.ByteArrayInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** CONFORMANCE 67 and the reading of bodies. */
class RequestBodyTest {

    private static final RequestBody.Limits LIMITS = new RequestBody.Limits(100_000, 10_000);

    @ParameterizedTest
    @CsvSource({
        "0, false",
        "1, false",
        "8191, false",
        "8192, false",
        "8193, false",
        "9999, false",
        "10000, false",
        "10001, true",
        "99999, true",
        "100000, true"
    })
    void aBodyWithinTheLimitIsReadWhole(int length, boolean spilled) throws IOException {
        byte[] bytes = bytes(length);
        for (long declared : new long[] {-1, length}) {
            try (RequestBody body = RequestBody.read(trickle(bytes), declared, LIMITS)) {
                assertThat(body.length()).isEqualTo(length);
                assertThat(body.isSpilled()).isEqualTo(spilled);
                assertThat(body.openStream().readAllBytes()).isEqualTo(bytes);
                assertThat(body.openStream().readAllBytes()).isEqualTo(bytes);
            }
        }
    }

    @Test
    void oneByteOverTheLimitIsRefusedWhateverWasDeclared() {
        for (long declared : new long[] {-1, 0, 10, 100_000}) {
            assertThatExceptionOfType(RequestBody.TooLargeException.class)
                    .isThrownBy(() -> RequestBody.read(trickle(bytes(100_001)), declared, LIMITS));
        }
        RequestBody.Limits memoryOnly = new RequestBody.Limits(10, 10_000);
        assertThatExceptionOfType(RequestBody.TooLargeException.class)
                .isThrownBy(() -> RequestBody.read(trickle(bytes(11)), -1, memoryOnly));
    }

    @Test
    void aDeclaredLengthOverTheLimitIsRefusedUnread() {
        InputStream unreadable = new BrokenStream();
        assertThatExceptionOfType(RequestBody.TooLargeException.class)
                .isThrownBy(() -> RequestBody.read(unreadable, 100_001, LIMITS));
    }

    @Test
    void aDeclaredLengthIsNotBelieved() throws IOException {
        try (RequestBody body = RequestBody.read(trickle(bytes(5000)), 3, LIMITS)) {
            assertThat(body.openStream().readAllBytes()).isEqualTo(bytes(5000));
        }
    }

    @Test
    void streamsOverOneFileAreIndependent() throws IOException {
        byte[] bytes = bytes(50_000);
        try (RequestBody body = RequestBody.read(trickle(bytes), -1, LIMITS);
                InputStream one = body.openStream();
                InputStream other = body.openStream()) {
            assertThat(one.read()).isEqualTo(bytes[0] & 0xff);
            assertThat(one.skip(40_000)).isEqualTo(40_000);
            assertThat(one.available()).isEqualTo(9_999);
            assertThat(one.read()).isEqualTo(bytes[40_001] & 0xff);
            assertThat(other.readAllBytes()).isEqualTo(bytes);
            assertThat(one.skip(100_000)).isEqualTo(9_998);
            assertThat(one.read()).isEqualTo(-1);
            assertThat(one.read(new byte[4], 0, 0)).isZero();
        }
    }

    @Test
    void noFileIsLeftBehindEvenWhenReadingFails() throws IOException {
        Set<Path> before = files();
        try (RequestBody body = RequestBody.read(trickle(bytes(50_000)), -1, LIMITS)) {
            assertThat(body.isSpilled()).isTrue();
        }
        InputStream broken = new SequenceInputStream(trickle(bytes(50_000)), new BrokenStream());
        assertThatIOException()
                .isThrownBy(() -> RequestBody.read(broken, -1, LIMITS))
                .withMessage("client gone");
        assertThatIOException().isThrownBy(() -> RequestBody.read(trickle(bytes(100_001)), -1, LIMITS));
        // Twice, since another process may be at the same work: its files have a name for a moment only.
        Set<Path> left = files();
        left.retainAll(files());
        left.removeAll(before);
        assertThat(left).isEmpty();
    }

    @Test
    void limitsHaveBounds() {
        assertThatIllegalArgumentException().isThrownBy(() -> new RequestBody.Limits(-1, 0));
        assertThatIllegalArgumentException().isThrownBy(() -> new RequestBody.Limits(1, -1));
        assertThatIllegalArgumentException().isThrownBy(() -> new RequestBody.Limits(1, Integer.MAX_VALUE));
    }

    private static Set<Path> files() throws IOException {
        try (Stream<Path> files = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
            return files.filter(file -> file.getFileName().toString().startsWith("idemkey-"))
                    .collect(Collectors.toCollection(HashSet::new));
        }
    }

    private static byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        return bytes;
    }

    /** Gives a few bytes at a time, as a socket does. */
    private static InputStream trickle(byte[] bytes) {
        return new FilterInputStream(new ByteArrayInputStream(bytes)) {
            @Override
            public int read(byte[] target, int offset, int count) throws IOException {
                return super.read(target, offset, Math.min(count, 1 + count / 3));
            }
        };
    }

    /** A connection that has gone. */
    private static final class BrokenStream extends InputStream {
        @Override
        public int read() throws IOException {
            throw new IOException("client gone");
        }

        @Override
        public int read(byte[] target, int offset, int count) throws IOException {
            throw new IOException("client gone");
        }
    }
}
