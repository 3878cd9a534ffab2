// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import java.io.PrintStream;
import java.io.StringWriter;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.json.JsonFactory;

/** Tells each figure as soon as it is there: a line of JSON, or a line of a table. */
interface Output {

    void result(Comparison.Result result);

    void messages(Messages.Result result);

    void piece(Pieces.Cost cost);

    void growth(Growth.Point point);

    void expiry(Expiry.Result expiry);

    /** One JSON object a line. */
    static Output json(PrintStream out) {
        return new JsonLines(out);
    }

    /** For people. */
    static Output table(PrintStream out) {
        return new Table(out);
    }

    /** See {@link #json}. */
    final class JsonLines implements Output {

        private static final JsonFactory JSON = new JsonFactory();

        private final PrintStream out;

        private JsonLines(PrintStream out) {
            this.out = out;
        }

        @Override
        public void result(Comparison.Result result) {
            line(json -> ratio(json, result));
        }

        @Override
        public void messages(Messages.Result result) {
            line(json -> {
                json.writeStringProperty("name", result.name());
                number(json, "ratio", result.ratio());
                number(json, "low", result.low());
                number(json, "high", result.high());
                number(json, "perSecond", result.perSecond());
                number(json, "twinPerSecond", result.twinPerSecond());
            });
        }

        @Override
        public void piece(Pieces.Cost cost) {
            line(json -> {
                json.writeStringProperty("name", cost.name());
                number(json, "nanos", cost.nanos());
                number(json, "nanosError", cost.nanosError());
                number(json, "bytes", cost.bytes());
            });
        }

        @Override
        public void growth(Growth.Point point) {
            for (Comparison.Result result : List.of(point.first(), point.replay())) {
                line(json -> {
                    ratio(json, result);
                    json.writeNumberProperty("rows", point.rows());
                });
            }
        }

        @Override
        public void expiry(Expiry.Result expiry) {
            line(json -> {
                json.writeStringProperty("name", "expiry");
                number(json, "rowsPerSecond", expiry.rowsPerSecond());
                number(json, "p99Ratio", expiry.p99Ratio());
                number(json, "low", expiry.low());
                number(json, "high", expiry.high());
            });
        }

        private static void ratio(JsonGenerator json, Comparison.Result result) {
            json.writeStringProperty("name", result.name());
            number(json, "ratio", result.ratio());
            number(json, "low", result.low());
            number(json, "high", result.high());
            json.writeNumberProperty("connections", result.connections());
            number(json, "p99Ratio", result.p99Ratio());
            number(json, "perSecond", result.perSecond());
            number(json, "twinPerSecond", result.twinPerSecond());
        }

        private static void number(JsonGenerator json, String name, double value) {
            json.writeNumberProperty(name, Math.round(value * 1000) / 1000.0);
        }

        private void line(Consumer<JsonGenerator> content) {
            StringWriter text = new StringWriter();
            try (JsonGenerator json = JSON.createGenerator(ObjectWriteContext.empty(), text)) {
                json.writeStartObject();
                content.accept(json);
                json.writeEndObject();
            }
            out.println(text);
            out.flush();
        }
    }

    /** See {@link #table}. */
    final class Table implements Output {

        private final PrintStream out;

        private Table(PrintStream out) {
            this.out = out;
        }

        @Override
        public void result(Comparison.Result r) {
            line(
                    "%-44s %2d connections  %5.2f (%.2f to %.2f)  p99 %5.2f  %,8.0f to %,8.0f requests/s",
                    r.name(),
                    r.connections(),
                    r.ratio(),
                    r.low(),
                    r.high(),
                    r.p99Ratio(),
                    r.perSecond(),
                    r.twinPerSecond());
        }

        @Override
        public void messages(Messages.Result r) {
            line(
                    "%-44s                 %5.2f (%.2f to %.2f)             %,8.0f to %,8.0f messages/s",
                    r.name(), r.ratio(), r.low(), r.high(), r.perSecond(), r.twinPerSecond());
        }

        @Override
        public void piece(Pieces.Cost cost) {
            line("%-44s %,12.0f ns  %,12.0f bytes allocated", cost.name(), cost.nanos(), cost.bytes());
        }

        @Override
        public void growth(Growth.Point point) {
            line("%,d rows", point.rows());
            result(point.first());
            result(point.replay());
        }

        @Override
        public void expiry(Expiry.Result expiry) {
            line("expiry: %,.0f rows/s, p99 meanwhile %.2f", expiry.rowsPerSecond(), expiry.p99Ratio());
        }

        private void line(String format, Object... values) {
            out.println(String.format(Locale.ROOT, format, values));
            out.flush();
        }
    }
}
