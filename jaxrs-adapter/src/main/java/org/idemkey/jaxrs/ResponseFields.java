// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs;

import jakarta.ws.rs.core.MultivaluedMap;
import jakarta.ws.rs.ext.RuntimeDelegate;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.idemkey.StoredResponse.Header;
import org.jspecify.annotations.Nullable;

/** The header fields of a response: which of them are kept, and how they look. */
final class ResponseFields {

    /** RFC 9110 §8, RFC 9530: these are true of certain bytes only. */
    private static final Set<String> OF_BYTES = Set.of(
            "content-type",
            "content-encoding",
            "content-language",
            "content-length",
            "content-location",
            "content-disposition",
            "content-range",
            "content-md5",
            "content-digest",
            "repr-digest",
            "digest",
            "etag",
            "last-modified");

    private ResponseFields() {}

    static boolean describesBytes(String name) {
        return OF_BYTES.contains(name.toLowerCase(Locale.ROOT));
    }

    /** The fields as they would be written now, each value a line of its own. */
    static List<Header> of(MultivaluedMap<String, Object> fields) {
        List<Header> lines = new ArrayList<>(fields.size());
        for (Map.Entry<String, List<Object>> field : fields.entrySet()) {
            if (field.getKey() != null && field.getValue() != null) {
                for (Object value : field.getValue()) {
                    if (value != null) {
                        Header.lenient(field.getKey(), text(value), false).ifPresent(lines::add);
                    }
                }
            }
        }
        return lines;
    }

    private static String text(Object value) {
        return value instanceof String string ? string : delegated(value);
    }

    @SuppressWarnings("unchecked")
    private static String delegated(Object value) {
        RuntimeDelegate.HeaderDelegate<Object> delegate = (RuntimeDelegate.HeaderDelegate<Object>)
                RuntimeDelegate.getInstance().createHeaderDelegate(value.getClass());
        return delegate == null ? value.toString() : delegate.toString(value);
    }

    /**
     * What a replay must bring with it: what the handler has said, what interceptors and the entity's writer have
     * changed, and what describes the bytes. What the application's response filters have added otherwise (CORS, a
     * request id) is left out, since they see the replay too and make it afresh.
     *
     * @param ofHandler the handler's fields
     * @param ofFilters the fields after the response filters
     * @param last the fields as they are sent
     */
    static List<Header> kept(List<Header> ofHandler, List<Header> ofFilters, List<Header> last) {
        List<Header> kept = new ArrayList<>(last.size());
        for (String name : names(ofHandler, last)) {
            List<Header> now = named(last, name);
            List<Header> before = named(ofFilters, name);
            if (describesBytes(name)) {
                kept.addAll(now);
            } else if (now.equals(before)) {
                kept.addAll(named(ofHandler, name));
            } else if (now.size() > before.size()
                    && now.subList(0, before.size()).equals(before)) {
                kept.addAll(named(ofHandler, name));
                kept.addAll(now.subList(before.size(), now.size()));
            } else {
                kept.addAll(now);
            }
        }
        return kept;
    }

    private static Set<String> names(List<Header> first, List<Header> second) {
        Set<String> names = new LinkedHashSet<>();
        for (List<Header> fields : List.of(first, second)) {
            for (Header field : fields) {
                names.add(field.name().toLowerCase(Locale.ROOT));
            }
        }
        return names;
    }

    private static List<Header> named(List<Header> fields, @Nullable String name) {
        return fields.stream()
                .filter(field -> field.name().equalsIgnoreCase(name))
                .toList();
    }
}
