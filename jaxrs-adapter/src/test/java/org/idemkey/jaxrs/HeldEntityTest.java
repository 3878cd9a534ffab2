// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import org.junit.jupiter.api.Test;

/** That nothing leaves before it is recorded, and all of it afterwards. */
class HeldEntityTest {

    private int flushes;
    private int tombstones;
    private boolean mayLeave = true;

    private final ByteArrayOutputStream client = new ByteArrayOutputStream() {
        @Override
        public void flush() {
            flushes++;
        }

        @Override
        public void close() throws IOException {
            throw new IOException("the client's stream is the runtime's to close");
        }
    };

    private final HeldEntity held = new HeldEntity(client, 10, () -> {
        assertThat(client.size()).isZero();
        tombstones++;
        return mayLeave;
    });

    private static byte[] bytes(String text) {
        return text.getBytes(US_ASCII);
    }

    @Test
    void nothingLeavesWithinTheLimit() throws IOException {
        held.write(bytes("12345"));
        held.flush();
        held.write(bytes("67890"));
        held.close();
        assertThat(client.size()).isZero();
        assertThat(flushes + tombstones).isZero();
        assertThat(held.isHeld()).isTrue();
        assertThat(held.bytes().toUtf8()).isEqualTo("1234567890");
    }

    @Test
    void theFirstByteBeyondTheLimitLetsAllGoAfterTheTombstone() throws IOException {
        held.write(bytes("1234567890"));
        held.write('x');
        held.write(bytes("yz"));
        held.flush();
        assertThat(client.toString(US_ASCII)).isEqualTo("1234567890xyz");
        assertThat(tombstones).isEqualTo(1);
        assertThat(flushes).isEqualTo(1);
        assertThat(held.isHeld()).isFalse();
    }

    @Test
    void whatMustNotLeaveIsCutOff() throws IOException {
        mayLeave = false;
        OutputStream out = held;
        assertThatThrownBy(() -> out.write(bytes("12345678901"))).isInstanceOf(IOException.class);
        held.write(bytes("trailer"));
        held.flush();
        assertThat(client.size()).isZero();
        assertThat(held.isHeld()).isFalse();
        assertThat(flushes).isZero();
    }
}
