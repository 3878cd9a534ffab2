// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class MediaTypeTest {

    @Test
    void theNameIsInLowerCaseAndWithoutParameters() {
        assertThat(MediaType.parse(" Text/HTML ; charset=UTF-8").name()).isEqualTo("text/html");
        assertThat(MediaType.parse("text/html").name()).isEqualTo("text/html");
        assertThat(MediaType.parse("").name()).isEmpty();
        assertThat(MediaType.parse(null).name()).isEmpty();
    }

    @Test
    void parametersMayBeQuoted() {
        MediaType type = MediaType.parse("a/b; x=1;y=\"2;z=3\\\"\";X=4; empty=\"\";flag; =5");
        assertThat(type.parameter("X")).contains("1");
        assertThat(type.parameter("y")).contains("2;z=3\"");
        assertThat(type.parameter("empty")).contains("");
        assertThat(type.parameter("z")).isEmpty();
        assertThat(type.parameter("flag")).isEmpty();
    }

    @Test
    void aParameterIsLeftOutAndTheRestStaysAsItWasWritten() {
        assertThat(MediaType.parse("Text/Plain;Charset=UTF-8; format=\"a;charset=b\" ;charset=x")
                        .without("charset"))
                .isEqualTo("Text/Plain; format=\"a;charset=b\" ");
        assertThat(MediaType.parse("text/plain").without("charset")).isEqualTo("text/plain");
        assertThat(MediaType.parse(";charset=x").without("charset")).isEmpty();
    }

    @Test
    void brokenTypesDoNoHarm() {
        for (String broken : new String[] {";", ";;", "=", ";=", "a/b;\"", "a/b;x=\"\\", "a/b;x=\"", "\""}) {
            MediaType type = MediaType.parse(broken);
            assertThat(type.parameter("y")).isEmpty();
            assertThat(type.without("y")).isEqualTo(broken);
        }
    }
}
