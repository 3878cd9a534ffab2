// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import jakarta.servlet.MultipartConfigElement;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a handler reads of a request is what it would read without the filter, by the container's own rules. */
class InvisibilityTest extends ServletTest {

    private static final String FORM = "application/x-www-form-urlencoded";

    @BeforeEach
    void serveBoth() throws Exception {
        start(new WebApp()
                .filter("/filtered/*", filter())
                .multipartServlet("/filtered/*", new MultipartConfigElement(""), InvisibilityTest::tell)
                .multipartServlet("/plain/*", new MultipartConfigElement(""), InvisibilityTest::tell)
                .filter("/partless/filtered/*", filter())
                .servlet("/partless/*", InvisibilityTest::tell));
    }

    private static void tell(HttpServletRequest request, HttpServletResponse response) throws IOException {
        response.setContentType("text/plain;charset=UTF-8");
        response.getOutputStream().write(view(request).getBytes(UTF_8));
    }

    private static String view(HttpServletRequest request) throws IOException {
        String encoding = "encoding " + request.getCharacterEncoding() + ", ";
        if (request.getHeader("X-Set") != null) {
            request.setCharacterEncoding(request.getHeader("X-Set"));
        }
        if (request.getHeader("X-Reader") != null) {
            return encoding + request.getReader().readLine() + " of " + request.getContentLength();
        }
        Map<String, Object> parameters = new TreeMap<>();
        request.getParameterMap().forEach((name, values) -> parameters.put(name, Arrays.asList(values)));
        return encoding + parameters;
    }

    private void assertSame(String type, String body, String... fields) throws IOException {
        assertSameAt("", type, body, fields);
    }

    private void assertSameAt(String path, String type, String body, String... fields) throws IOException {
        byte[] bytes = body.getBytes(ISO_8859_1);
        String query = "/x?q=1&a=%C3%A9&note=zero+%2B";
        RawResponse plain = send("POST", path + "/plain" + query, newKey(), type, bytes, fields);
        RawResponse filtered = send("POST", path + "/filtered" + query, newKey(), type, bytes, fields);
        assertThat(filtered.status()).isEqualTo(plain.status());
        if (plain.status() == 200) {
            assertThat(filtered.text()).isEqualTo(plain.text());
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "a=%C3%A9",
                "a=%E9",
                "a=\u00c3\u00a9",
                "a=1&b=2&a=3",
                "a&b=",
                "q=2",
                "a=1+2%2B3",
                "a=1%00b",
                "a=b=c",
                "a;b=c"
            })
    void forms(String body) throws IOException {
        assertSame(FORM, body);
        assertSame(FORM + ";charset=UTF-8", body);
        assertSame(FORM + ";charset=ISO-8859-1", body);
        assertSame(FORM, body, "X-Set: UTF-8");
        assertSame("text/plain", body);
    }

    @ParameterizedTest
    @ValueSource(strings = {"a=1&b=%zz&c=3", "a=%", "a=%4", "%zz=1"})
    void brokenForms(String body) throws IOException {
        assertSame(FORM, body);
        assertSame(FORM + ";charset=UTF-8", body);
    }

    /** The fields of it are parameters, where the servlet takes parts. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "Content-Disposition: form-data; name=\"note\"\r\n\r\nc\u00c3\u00a9",
                "Content-Disposition: form-data; name=\"c\u00c3\u00a9\"\r\n\r\n1",
                "Content-Disposition: form-data; name=\"a\"\r\nContent-Type: text/plain;charset=ISO-8859-1\r\n\r\n\u00e9",
                "Content-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\ncontent",
                "Content-Disposition: form-data; name=\"\"\r\n\r\nnameless",
                "Content-Disposition: form-data; name=\"empty\"\r\n\r\n",
                "Content-Disposition: form-data; name=\"_charset_\"\r\n\r\nISO-8859-1\r\n--B\r\n"
                        + "Content-Disposition: form-data; name=\"b\"\r\n\r\n\u00e9"
            })
    void multipartForms(String part) throws IOException {
        String body = "--B\r\n" + part + "\r\n--B--\r\n";
        assertSame("multipart/form-data; boundary=B", body);
        assertSame("multipart/form-data; boundary=B", body, "X-Set: UTF-8");
        assertSame("multipart/form-data; boundary=B; charset=ISO-8859-1", body);
        assertSameAt("/partless", "multipart/form-data; boundary=B", body);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "text/plain",
                "text/plain;charset=UTF-8",
                "text/plain;charset=none",
                "text/html",
                "text/xml",
                "application/json",
                "application/json;charset=UTF-16BE",
                "application/octet-stream",
                FORM
            })
    void readers(String type) throws IOException {
        assertSame(type, "\u0000c\u00c3\u00a9", "X-Reader: 1");
        assertSame(type, "\u0000c\u00c3\u00a9", "X-Reader: 1", "X-Set: UTF-8");
    }
}
