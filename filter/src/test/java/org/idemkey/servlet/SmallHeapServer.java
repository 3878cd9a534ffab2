// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import org.apache.commons.codec.digest.DigestUtils;
import org.idemkey.Idempotency;
import org.idemkey.InMemoryIdempotencyStore;

/** A server in a process of its own, so that its heap can be small. Ends with its standard input. */
final class SmallHeapServer {

    private SmallHeapServer() {}

    public static void main(String[] arguments) throws Exception {
        Idempotency engine = Idempotency.builder(new InMemoryIdempotencyStore())
                .lease(Duration.ofHours(1))
                .maxRequestBytes(16 << 20)
                .build();
        try (ServletServer server = ServletServer.started(new WebApp()
                .filter("/*", new IdempotencyFilter(engine))
                .servlet("/upload", (request, response) -> {
                    try (InputStream in = request.getInputStream()) {
                        response.getWriter().print(DigestUtils.sha256Hex(in));
                    }
                })
                .servlet("/download", (request, response) -> {
                    OutputStream out = response.getOutputStream();
                    byte[] chunk = new byte[1 << 16];
                    for (int i = 0; i < 200 << 4; i++) {
                        out.write(chunk);
                    }
                }))) {
            System.out.println(server.port());
            System.out.flush();
            while (System.in.read() >= 0) {
                // The test's process closes it, or ends.
            }
        }
    }
}
