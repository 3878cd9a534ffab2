// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.idemkey.StoredResponse;
import org.idemkey.StoredResponse.Header;
import org.junit.jupiter.api.Test;

class HeaderJsonTest {

    @Test
    void orderRepetitionAndAppendedAreKept() {
        List<Header> headers = List.of(
                new Header("Link", "</a>; rel=\"next\""),
                new Header("X-Two", "1"),
                new Header("Link", "</b>", true),
                new Header("x-two", "\u00e9\\ \t\ud83d\ude00"),
                new Header("Empty", ""));

        assertThat(HeaderJson.read(HeaderJson.write(headers))).isEqualTo(headers);
        assertThat(HeaderJson.read(HeaderJson.write(List.of()))).isEmpty();
    }

    @Test
    void errorPagesAreKeptAsTheyAre() {
        StoredResponse page = StoredResponse.errorPage(404, List.of(new Header("A", "b")), "gone");

        assertThat(HeaderJson.read(HeaderJson.write(page.headers()))).isEqualTo(page.headers());
    }

    @Test
    void thirdElementsOfLaterVersionsAreNoObstacle() {
        assertThat(HeaderJson.read("[[\"A\", \"b\", false, 7], [\"C\", \"d\", true, \"x\"]]"))
                .containsExactly(new Header("A", "b"), new Header("C", "d", true));
    }
}
