// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs;

import static org.assertj.core.api.Assertions.assertThat;

import jakarta.ws.rs.core.MultivaluedHashMap;
import jakarta.ws.rs.core.MultivaluedMap;
import java.util.List;
import org.idemkey.StoredResponse.Header;
import org.junit.jupiter.api.Test;

/** Which fields of an answer are the handler's own, and which a response filter makes afresh. */
class ResponseFieldsTest {

    private static final List<Header> HANDLER =
            fields("Location", "/1", "X-Tag", "a", "X-Tag", "b", "Content-Type", "text/plain", "Vary", "Accept");

    private static List<Header> fields(String... namesAndValues) {
        MultivaluedMap<String, Object> map = new MultivaluedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            map.add(namesAndValues[i], namesAndValues[i + 1]);
        }
        return ResponseFields.of(map);
    }

    private static List<String> lines(List<Header> fields) {
        return fields.stream()
                .map(field -> field.name() + ": " + field.value())
                .sorted()
                .toList();
    }

    private static List<String> kept(List<Header> ofFilters, List<Header> last) {
        return lines(ResponseFields.kept(HANDLER, ofFilters, last));
    }

    @Test
    void whatTheHandlerSaidIsKept() {
        assertThat(kept(HANDLER, HANDLER)).isEqualTo(lines(HANDLER));
    }

    @Test
    void whatFiltersAddedOrChangedIsNot() {
        List<Header> filtered = fields(
                "Location",
                "/changed",
                "X-Tag",
                "a",
                "X-Tag",
                "b",
                "Content-Type",
                "text/plain",
                "Vary",
                "Accept",
                "Vary",
                "Origin",
                "X-Request-Id",
                "7");
        assertThat(kept(filtered, filtered)).isEqualTo(lines(HANDLER));
    }

    /** It describes bytes that the filter won't see again. */
    @Test
    void whatDescribesTheBytesIsKeptWhoeverSaidIt() {
        List<Header> filtered = fields("content-type", "text/html", "ETag", "\"x\"", "Content-Encoding", "gzip");
        assertThat(kept(filtered, filtered))
                .contains("content-type: text/html", "ETag: \"x\"", "Content-Encoding: gzip")
                .doesNotContain("Content-Type: text/plain");
    }

    @Test
    void whatInterceptorsAddedIsKeptWithoutWhatFiltersAdded() {
        List<Header> filtered = fields("Vary", "Accept", "Vary", "Origin");
        List<Header> last = fields("Vary", "Accept", "Vary", "Origin", "Vary", "Accept-Encoding", "X-Mark", "m");
        assertThat(kept(filtered, last)).contains("Vary: Accept", "Vary: Accept-Encoding", "X-Mark: m");
        assertThat(kept(filtered, last)).doesNotContain("Vary: Origin");
    }

    @Test
    void whatInterceptorsReplacedIsKeptAsItIs() {
        assertThat(kept(HANDLER, fields("Location", "/2")))
                .contains("Location: /2")
                .doesNotContain("Location: /1");
    }

    /** Line 69. */
    @Test
    void noValueCanBreakTheFraming() {
        assertThat(lines(fields("X-A", "1\r\nX-B: 2", "not a name", "x"))).containsExactly("X-A: 1  X-B: 2");
    }
}
