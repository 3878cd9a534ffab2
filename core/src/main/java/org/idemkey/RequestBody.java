// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import static java.util.Objects.requireNonNull;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A request's body, read once and readable again any number of times: small ones lie in memory, large ones in a
 * temporary file. Close it when the request is over; that removes the file.
 *
 * <p>Where the platform lets an open file be unlinked the file has no name from its first byte on, so not even a killed
 * process leaves it behind.
 */
public final class RequestBody implements AutoCloseable {

    private static final int CHUNK = 8192;

    private final byte[] memory;
    private final @Nullable FileChannel file;
    private final long length;

    /** @param memory begins with the whole body, unless that lies in a file */
    private RequestBody(byte[] memory, @Nullable FileChannel file, long length) {
        this.memory = memory;
        this.file = file;
        this.length = length;
    }

    /** A body that is in memory already. */
    public static RequestBody of(byte[] bytes) {
        return new RequestBody(bytes, null, bytes.length);
    }

    /**
     * Reads a stream to its end, or to the first byte past the limit. The stream is not closed.
     *
     * @param declaredLength what Content-Length says, or a negative number; one past the limit is refused unread
     * @throws TooLargeException if there is more than the limits allow; nothing is kept then
     * @throws IOException if the stream can't be read, or the file not be written
     */
    public static RequestBody read(InputStream in, long declaredLength, Limits limits) throws IOException {
        requireNonNull(in, "in");
        if (declaredLength > limits.maxBytes()) {
            throw new TooLargeException(limits.maxBytes());
        }
        // One byte more than declared, so that the end is seen without growing.
        long expected = declaredLength < 0 ? CHUNK : declaredLength + 1;
        byte[] memory = new byte[(int) Math.min(expected, limits.memoryBytes() + 1L)];
        int filled = 0;
        while (true) {
            if (filled == memory.length) {
                if (filled > limits.memoryBytes()) {
                    return spill(memory, filled, in, limits);
                }
                memory = Arrays.copyOf(memory, (int) Math.min(2L * filled + 1, limits.memoryBytes() + 1L));
            }
            int read = in.read(memory, filled, memory.length - filled);
            if (read < 0) {
                if (filled > limits.maxBytes()) {
                    throw new TooLargeException(limits.maxBytes());
                }
                return new RequestBody(trimmed(memory, filled), null, filled);
            }
            filled += read;
            if (filled > limits.maxBytes()) {
                throw new TooLargeException(limits.maxBytes());
            }
        }
    }

    /** Gives back what growing has left over: the body lives as long as its handler runs. */
    private static byte[] trimmed(byte[] memory, int filled) {
        return memory.length - filled > filled / 8 ? Arrays.copyOf(memory, filled) : memory;
    }

    private static RequestBody spill(byte[] head, int headLength, InputStream in, Limits limits) throws IOException {
        FileChannel file = nameless();
        try {
            write(file, ByteBuffer.wrap(head, 0, headLength));
            long length = headLength;
            byte[] chunk = new byte[CHUNK];
            for (int read = in.read(chunk); read >= 0; read = in.read(chunk)) {
                length += read;
                if (length > limits.maxBytes()) {
                    throw new TooLargeException(limits.maxBytes());
                }
                write(file, ByteBuffer.wrap(chunk, 0, read));
            }
            return new RequestBody(new byte[0], file, length);
        } catch (Throwable e) {
            file.close();
            throw e;
        }
    }

    private static FileChannel nameless() throws IOException {
        Path path = Files.createTempFile("idemkey-", ".body");
        FileChannel file;
        try {
            file = FileChannel.open(
                    path, StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.DELETE_ON_CLOSE);
        } catch (Throwable e) {
            Files.deleteIfExists(path);
            throw e;
        }
        try {
            Files.delete(path);
        } catch (IOException e) {
            // Some platforms refuse to unlink an open file; closing the channel removes it there.
        }
        return file;
    }

    private static void write(FileChannel file, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            file.write(bytes);
        }
    }

    /** How many bytes it has. */
    public long length() {
        return length;
    }

    /** Whether it lies in a temporary file. */
    public boolean isSpilled() {
        return file != null;
    }

    /** A new stream over the whole body, independent of others; it must not outlive the body. */
    public InputStream openStream() {
        return openStream(0, length);
    }

    /** A new stream over {@code count} bytes from {@code from} on, which the body must have. */
    InputStream openStream(long from, long count) {
        return file == null
                ? new ByteArrayInputStream(memory, (int) from, (int) count)
                : new FileStream(file, from, from + count);
    }

    /** Removes the temporary file, if there is one. */
    @Override
    public void close() {
        if (file != null) {
            try {
                file.close();
            } catch (IOException e) {
                // Nothing was to be written any more, and the file is unlinked already or by this very call.
            }
        }
    }

    /**
     * How much is taken.
     *
     * @param maxBytes the longest body, in bytes; 0 or more
     * @param memoryBytes the longest one that is kept in memory, in bytes; 0 to {@value #MAX_MEMORY_BYTES}
     */
    public record Limits(long maxBytes, int memoryBytes) {

        /** The upper bound for what lies in memory: 1 GiB. */
        public static final int MAX_MEMORY_BYTES = 1 << 30;

        /**
         * Checks the bounds.
         *
         * @throws IllegalArgumentException if one of them is out of its bounds
         */
        public Limits {
            if (maxBytes < 0 || memoryBytes < 0 || memoryBytes > MAX_MEMORY_BYTES) {
                throw new IllegalArgumentException("body limits out of bounds: " + maxBytes + ", " + memoryBytes);
            }
        }
    }

    /** The body has more bytes than allowed. What was read of it is gone. */
    public static final class TooLargeException extends IOException {

        private static final long serialVersionUID = 1L;

        TooLargeException(long limit) {
            super("the request body has more than " + limit + " bytes");
        }
    }

    /** Reads by position, so that any number of streams share the channel. */
    private static final class FileStream extends InputStream {

        private final FileChannel file;
        private final long end;
        private long position;

        FileStream(FileChannel file, long from, long end) {
            this.file = file;
            this.position = from;
            this.end = end;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] target, int offset, int count) throws IOException {
            if (count == 0) {
                return 0;
            }
            if (position >= end) {
                return -1;
            }
            int wanted = (int) Math.min(count, end - position);
            int read = file.read(ByteBuffer.wrap(target, offset, wanted), position);
            if (read > 0) {
                position += read;
            }
            return read;
        }

        @Override
        public long skip(long count) {
            long skipped = Math.max(0, Math.min(count, end - position));
            position += skipped;
            return skipped;
        }

        @Override
        public int available() {
            return (int) Math.min(Integer.MAX_VALUE, end - position);
        }
    }
}
