// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.idemkey.StoredResponse.Header;

/**
 * What a handler set and added, in a form that gives the same headers when it is done again on another response. A field
 * that is set takes the place of all its lines before, as in a container.
 */
final class HeaderLog {

    private final List<Header> lines = new ArrayList<>();

    void set(String name, String value) {
        int place = lines.size();
        for (int i = lines.size() - 1; i >= 0; i--) {
            if (lines.get(i).name().equalsIgnoreCase(name)) {
                lines.remove(i);
                place = i;
            }
        }
        Optional<Header> line = Header.lenient(name, value, false);
        if (line.isPresent()) {
            lines.add(Math.min(place, lines.size()), line.get());
        }
    }

    void add(String name, String value) {
        Header.lenient(name, value, true).ifPresent(lines::add);
    }

    void remove(String name) {
        lines.removeIf(line -> line.name().equalsIgnoreCase(name));
    }

    void clear() {
        lines.clear();
    }

    List<Header> lines() {
        return lines;
    }
}
