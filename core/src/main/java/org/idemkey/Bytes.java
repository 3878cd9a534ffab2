// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import static java.util.Objects.requireNonNull;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Bytes that nobody can change: a body. Equal to others by content; {@link #toString()} tells the length only. */
public final class Bytes {

    /** No bytes at all. */
    public static final Bytes EMPTY = new Bytes(new byte[0]);

    private final byte[] bytes;

    private Bytes(byte[] bytes) {
        this.bytes = bytes;
    }

    /** A copy of the bytes given. */
    public static Bytes copyOf(byte[] bytes) {
        return requireNonNull(bytes, "bytes").length == 0 ? EMPTY : new Bytes(bytes.clone());
    }

    /** A copy of {@code length} bytes from {@code offset} on. */
    public static Bytes copyOf(byte[] bytes, int offset, int length) {
        return length == 0 ? EMPTY : new Bytes(Arrays.copyOfRange(bytes, offset, offset + length));
    }

    /** The bytes given, not copied: the caller promises never to change them again. */
    public static Bytes wrap(byte[] bytes) {
        return requireNonNull(bytes, "bytes").length == 0 ? EMPTY : new Bytes(bytes);
    }

    /** A text's bytes in UTF-8. */
    public static Bytes utf8(String text) {
        return wrap(text.getBytes(StandardCharsets.UTF_8));
    }

    /** How many there are. */
    public int length() {
        return bytes.length;
    }

    /** A copy that the caller may change. */
    public byte[] toByteArray() {
        return bytes.clone();
    }

    /** A stream over the bytes; nothing is copied up front. */
    public InputStream openStream() {
        return new ByteArrayInputStream(bytes);
    }

    /** Writes all of them, in one call. */
    public void writeTo(OutputStream out) throws IOException {
        out.write(bytes);
    }

    /** The bytes read as UTF-8. */
    public String toUtf8() {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Bytes that && Arrays.equals(bytes, that.bytes);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bytes);
    }

    @Override
    public String toString() {
        return bytes.length + " bytes";
    }
}
