// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;
import org.idemkey.Bytes;

/** A body in memory while it grows. Its owner sees to the limit. */
final class HeldBytes {

    private static final byte[] NONE = new byte[0];

    private byte[] bytes = NONE;
    private int size;

    void write(byte[] source, int offset, int length) {
        if (length > bytes.length - size) {
            // By half and not by double: what is held costs memory for as long as the handler runs.
            long grown = Math.max(size + (long) length, bytes.length + bytes.length / 2L);
            bytes = Arrays.copyOf(bytes, (int) Math.min(Math.max(grown, 256), Integer.MAX_VALUE - 8));
        }
        System.arraycopy(source, offset, bytes, size, length);
        size += length;
    }

    int size() {
        return size;
    }

    void truncate(int length) {
        size = length;
    }

    void clear() {
        bytes = NONE;
        size = 0;
    }

    void writeTo(OutputStream out) throws IOException {
        if (size > 0) {
            out.write(bytes, 0, size);
        }
    }

    /** All of them; asked twice it copies once. What is written later goes elsewhere. */
    Bytes toBytes() {
        if (size < bytes.length) {
            bytes = Arrays.copyOf(bytes, size);
        }
        return Bytes.wrap(bytes);
    }
}
