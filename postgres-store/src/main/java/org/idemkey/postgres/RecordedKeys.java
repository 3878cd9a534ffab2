// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import java.util.concurrent.atomic.AtomicLongArray;
import org.idemkey.IdempotencyKey;

/**
 * A memory for which keys a response was recorded lately, of a fixed size: 128 KiB. No more than a hint, for it mixes some
 * keys up and forgets others, so what depends on it may be slower or faster but never another answer. Thread-safe.
 */
final class RecordedKeys {

    private static final int SIZE = 1 << 14;

    private final AtomicLongArray marks = new AtomicLongArray(SIZE);

    void add(IdempotencyKey key) {
        long mark = mark(key);
        marks.lazySet(place(mark), mark);
    }

    /** Whether it is worth looking. */
    boolean mayContain(IdempotencyKey key) {
        long mark = mark(key);
        return marks.get(place(mark)) == mark;
    }

    private static int place(long mark) {
        return (int) mark & (SIZE - 1);
    }

    /** Never zero, which stands for none. */
    private static long mark(IdempotencyKey key) {
        long both = ((long) key.scope().value().hashCode() << 32) ^ (key.value().hashCode() & 0xffff_ffffL);
        long mixed = both * 0x9e37_79b9_7f4a_7c15L;
        return (mixed ^ (mixed >>> 32)) | Long.MIN_VALUE;
    }
}
