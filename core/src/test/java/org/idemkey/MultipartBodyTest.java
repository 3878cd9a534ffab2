// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.idemkey.MultipartBody.Field;
import org.idemkey.MultipartBody.Part;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** CONFORMANCE 14, and what parts are made of. */
class MultipartBodyTest {

    private static final String TYPE = "multipart/form-data; boundary=XX";

    private static Optional<MultipartBody> parse(String body, String type) throws IOException {
        return MultipartBody.parse(RequestBody.of(body.getBytes(ISO_8859_1)), type);
    }

    private static List<String> contents(String body) throws IOException {
        return parse(body, TYPE).orElseThrow().parts().stream()
                .map(MultipartBodyTest::content)
                .toList();
    }

    private static String content(Part part) {
        try {
            byte[] bytes = part.openStream().readAllBytes();
            assertThat(part.length()).isEqualTo(bytes.length);
            return new String(bytes, ISO_8859_1);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void partsAreFieldsAndContent() throws IOException {
        String text = String.join(
                "\r\n",
                "--XX",
                "Content-Disposition: form-data; name=\"a\"",
                "",
                "one",
                "--XX",
                "content-disposition: form-data;",
                " name=\"b\"",
                "X-Any:1",
                "",
                "",
                "--XX--",
                "");
        MultipartBody body = parse(text, TYPE).orElseThrow();
        Part first = body.parts().get(0);
        Part second = body.parts().get(1);
        assertThat(body.parts()).hasSize(2);
        assertThat(first.fields()).containsExactly(new Field("Content-Disposition", "form-data; name=\"a\""));
        assertThat(content(first)).isEqualTo("one");
        assertThat(second.field("Content-Disposition")).contains("form-data; name=\"b\"");
        assertThat(second.field("x-any")).contains("1");
        assertThat(second.field("absent")).isEmpty();
        assertThat(content(second)).isEmpty();
    }

    @Test
    void contentsAreFoundWhateverTheyLookLike() throws IOException {
        for (String content : List.of(
                "",
                "\r\n",
                "\r\n\r\n",
                "\r",
                "-",
                "--",
                "--X",
                "\r\n--",
                "\r\n--X",
                "XX",
                "\r\r\n--X\r\n--",
                "a--XX",
                "\n--XX",
                "\u00ff\u0000\u0080")) {
            String body = "--XX\r\n\r\n" + content + "\r\n--XX\r\nA: 1\r\n\r\n" + content + content + "\r\n--XX--";
            assertThat(contents(body)).containsExactly(content, content + content);
        }
    }

    @Test
    void noFieldsNoContentNoParts() throws IOException {
        assertThat(contents("--XX\r\n\r\n--XX--\r\n")).containsExactly("");
        assertThat(contents("--XX\r\nA: 1\r\n\r\n--XX--\r\n")).containsExactly("");
        assertThat(contents("--XX--\r\n")).isEmpty();
    }

    @Test
    void whatStandsAroundThePartsIsNoPart() throws IOException {
        assertThat(contents(
                        "before --XX\r\nmore\r\n--XX  \r\n\r\nin\r\n--XX--\t\r\nafter\r\n--XX\r\n\r\nout\r\n--XX--"))
                .containsExactly("in");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "--XX",
                "--XX\r\n",
                "--XX\r\n\r\n",
                "--XX\r\n\r\nopen",
                "--XX\r\n\r\nopen\r\n--XX",
                "--XX\r\n\r\nopen\r\n--XX\r\n",
                "--XX\r\nno colon\r\n\r\n\r\n--XX--",
                "--XX\r\n: nameless\r\n\r\n\r\n--XX--",
                "--XX trailing text\r\n\r\n\r\n--XX--",
                "--XXX\r\n\r\n\r\n--XXX--",
                "--YY\r\n\r\n\r\n--YY--",
                "--XX\n\nbare line feeds\n--XX--"
            })
    void whatIsNotWellFormedIsNotTakenApart(String body) throws IOException {
        assertThat(parse(body, TYPE)).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "multipart/form-data",
                "multipart/form-data; boundary=",
                "multipart/form-data; boundary=\"\"",
                "multipart/form-data; boundary=caf\u00e9",
                "text/plain; boundary=XX"
            })
    void withoutABoundaryThereIsNothingToGoBy(String type) throws IOException {
        assertThat(parse("--XX\r\n\r\n\r\n--XX--", type)).isEmpty();
        assertThat(parse("--XX\r\n\r\n\r\n--XX--", null)).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Multipart/Mixed;BOUNDARY=\"XX\"",
                "multipart/form-data; charset=UTF-8 ; boundary = XX",
                "multipart/x; boundary=\"X\\X\""
            })
    void aBoundaryIsFoundAsAnyParameter(String type) throws IOException {
        assertThat(parse("--XX\r\n\r\n\r\n--XX--", type)).isPresent();
    }

    @Test
    void partsAndTheirFieldsHaveALimit() throws IOException {
        String part = "--XX\r\n\r\n\r\n";
        assertThat(parse(part.repeat(MultipartBody.MAX_PARTS) + "--XX--", TYPE)).isPresent();
        assertThat(parse(part.repeat(MultipartBody.MAX_PARTS + 1) + "--XX--", TYPE))
                .isEmpty();
        String fields = "A: " + "1".repeat(MultipartBody.MAX_HEADER_BYTES / 2) + "\r\n";
        assertThat(parse("--XX\r\n" + fields + "\r\n\r\n--XX--", TYPE)).isPresent();
        assertThat(parse("--XX\r\n" + fields + fields + "\r\n\r\n--XX--", TYPE)).isEmpty();
        assertThat(parse("--XX\r\nA: " + "1".repeat(MultipartBody.MAX_HEADER_BYTES * 2), TYPE))
                .isEmpty();
    }

    /** Boundaries that repeat themselves, at every place of a chunk, in memory and in a file. */
    @Test
    void noBoundaryIsMissedAndNoneIsMadeUp() throws IOException {
        Random random = new Random(7);
        for (int round = 0; round < 300; round++) {
            String boundary = "-".repeat(random.nextInt(4)) + "ABAB".substring(random.nextInt(4));
            ByteArrayOutputStream body = new ByteArrayOutputStream();
            byte[][] contents = new byte[1 + random.nextInt(4)][];
            for (int i = 0; i < contents.length; i++) {
                contents[i] = alphabet(random, random.nextInt(9000), "\r\n-AB", "\r\n--" + boundary);
                body.writeBytes(("--" + boundary + "\r\n\r\n").getBytes(ISO_8859_1));
                body.writeBytes(contents[i]);
                body.writeBytes("\r\n".getBytes(ISO_8859_1));
            }
            body.writeBytes(("--" + boundary + "--").getBytes(ISO_8859_1));
            try (RequestBody kept = RequestBody.read(
                    new ByteArrayInputStream(body.toByteArray()),
                    -1,
                    new RequestBody.Limits(1 << 20, round % 2 * 50))) {
                List<Part> parts = MultipartBody.parse(kept, "multipart/mixed; boundary=\"" + boundary + "\"")
                        .orElseThrow()
                        .parts();
                assertThat(parts).hasSameSizeAs(contents);
                for (int i = 0; i < contents.length; i++) {
                    assertThat(parts.get(i).openStream().readAllBytes()).isEqualTo(contents[i]);
                }
            }
        }
    }

    private static byte[] alphabet(Random random, int length, String letters, String without) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < length; i++) {
            text.append(letters.charAt(random.nextInt(letters.length())));
        }
        String clean = "x" + text;
        while (clean.contains(without)) {
            clean = clean.replace(without, "");
        }
        // Nor may its end and the line break behind it make one.
        return (clean + "x").getBytes(ISO_8859_1);
    }

    // The fingerprint

    private static Fingerprint fingerprint(String type, String body) throws IOException {
        return new Fingerprinter(BodyMatching.RAW, List.of())
                .fingerprint(new FakeRequest().contentType(type), RequestBody.of(body.getBytes(ISO_8859_1)));
    }

    private static String form(String boundary, String... contents) {
        StringBuilder body = new StringBuilder();
        for (String content : contents) {
            body.append("--" + boundary + "\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\n" + content + "\r\n");
        }
        return body.append("--" + boundary + "--\r\n").toString();
    }

    @Test
    void anotherBoundaryIsTheSameRequest() throws IOException {
        assertThat(fingerprint("multipart/form-data; boundary=A", form("A", "one", "two")))
                .isEqualTo(fingerprint("multipart/form-data; boundary=\"B-B\"", form("B-B", "one", "two")));
    }

    @Test
    void anythingElseIsAnotherRequest() throws IOException {
        String type = "multipart/form-data; boundary=A";
        assertThat(Arrays.asList(
                        fingerprint(type, form("A", "one", "two")),
                        fingerprint(type, form("A", "one", "Two")),
                        fingerprint(type, form("A", "two", "one")),
                        fingerprint(type, form("A", "onetwo", "")),
                        fingerprint(type, form("A", "one")),
                        fingerprint(type, form("A")),
                        fingerprint(type, form("A", "one", "two").replace("\"f\"", "\"g\"")),
                        fingerprint(type, "preamble\r\n" + form("A", "one", "two")),
                        fingerprint(type, form("A", "one", "two") + "epilogue"),
                        fingerprint(type + "; x=1", form("A", "one", "two")),
                        fingerprint("multipart/mixed; boundary=A", form("A", "one", "two")),
                        fingerprint("text/plain; boundary=A", form("A", "one", "two"))))
                .doesNotHaveDuplicates();
    }

    /** What can't be taken apart counts as it is, its boundary too. */
    @Test
    void aMalformedBodyCountsByItsBytes() throws IOException {
        assertThat(fingerprint("multipart/form-data; boundary=A", "--A\r\n\r\nopen"))
                .isNotEqualTo(fingerprint("multipart/form-data; boundary=B", "--B\r\n\r\nopen"))
                .isNotEqualTo(fingerprint("multipart/form-data; boundary=A", "--A\r\n\r\nopen too"))
                .isEqualTo(fingerprint("multipart/form-data; boundary=A", "--A\r\n\r\nopen"));
    }
}
