// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import org.idemkey.Bytes;

/**
 * Holds back what is written, up to a limit. Past it, or when told to, what it holds and all that follows goes on to the
 * client, after the tombstone is recorded.
 *
 * <p>A flush doesn't let go: most writers flush at their end. Neither does a close, which is the runtime's affair.
 */
final class HeldEntity extends OutputStream {

    private final OutputStream client;
    private final int limit;
    private final Tombstone tombstone;
    private final ByteArrayOutputStream held = new ByteArrayOutputStream();
    private State state = State.HELD;

    HeldEntity(OutputStream client, int limit, Tombstone tombstone) {
        this.client = client;
        this.limit = limit;
        this.tombstone = tombstone;
    }

    boolean isHeld() {
        return state == State.HELD;
    }

    Bytes bytes() {
        return Bytes.wrap(held.toByteArray());
    }

    /** Sends what is held, and from now on all that is written. */
    void letGo() throws IOException {
        if (!tombstone.record()) {
            state = State.CUT_OFF;
            throw new IOException("the claim was lost, so this answer must not be sent");
        }
        state = State.GONE;
        held.writeTo(client);
        held.reset();
    }

    @Override
    public void write(int b) throws IOException {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
        if (state == State.HELD && length > limit - held.size()) {
            letGo();
        }
        switch (state) {
            case HELD -> held.write(bytes, offset, length);
            case GONE -> client.write(bytes, offset, length);
            case CUT_OFF -> {
                // A trailer that an encoder writes on its way out.
            }
        }
    }

    @Override
    public void flush() throws IOException {
        if (state == State.GONE) {
            client.flush();
        }
    }

    @Override
    public void close() {}

    private enum State {
        HELD,
        GONE,
        CUT_OFF
    }

    /** Records that the request was answered, though its answer is not kept. */
    @FunctionalInterface
    interface Tombstone {

        /** Whether the answer may leave. */
        boolean record();
    }
}
