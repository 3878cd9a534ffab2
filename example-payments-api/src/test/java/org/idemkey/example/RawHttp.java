// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** Requests as no client library would send them. */
final class RawHttp {

    private RawHttp() {}

    /** Posts a payment of alice's with these header lines as they are, one byte for each character. */
    static String post(int port, String body, String... headerLines) throws IOException {
        StringBuilder request = new StringBuilder("POST /payments HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                + "Authorization: Bearer sk_demo_alice\r\nContent-Type: application/json\r\nContent-Length: "
                + body.length() + "\r\n");
        for (String line : headerLines) {
            request.append(line).append("\r\n");
        }
        request.append("\r\n").append(body);
        try (Socket socket = new Socket("localhost", port)) {
            socket.getOutputStream().write(request.toString().getBytes(StandardCharsets.ISO_8859_1));
            socket.getOutputStream().flush();
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
