// SPDX-License-Identifier: Apache-2.0
package org.idemkey.benchmarks;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.BitmapEncoder.BitmapFormat;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategoryChartBuilder;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.style.Styler.LegendPosition;

/** The report's pictures, as PNG. */
final class Plots {

    private Plots() {}

    /** A bar for each scenario, one colour for each number of connections. */
    static void ratios(List<Comparison.Result> results, Path file) throws IOException {
        CategoryChart chart = new CategoryChartBuilder()
                .width(1000)
                .height(500)
                .title("Requests per second, to the twin's")
                .build();
        chart.getStyler().setXAxisLabelRotation(20).setLegendPosition(LegendPosition.InsideNE);
        for (int connections :
                results.stream().map(Comparison.Result::connections).distinct().toList()) {
            List<String> names = new ArrayList<>();
            List<Double> ratios = new ArrayList<>();
            for (Comparison.Result result : results) {
                if (result.connections() == connections) {
                    names.add(result.name());
                    ratios.add(result.ratio());
                }
            }
            chart.addSeries(connections + " connections", names, ratios);
        }
        BitmapEncoder.saveBitmap(chart, file.toString(), BitmapFormat.PNG);
    }

    /** Two lines over the number of rows, with the range of what was measured. */
    static void growth(List<Growth.Point> points, Path file) throws IOException {
        XYChart chart = new XYChartBuilder()
                .width(1000)
                .height(500)
                .title("Requests per second, to the unprotected twin's")
                .xAxisTitle("rows in the table")
                .build();
        chart.getStyler().setXAxisLogarithmic(true).setYAxisMin(0.0).setLegendPosition(LegendPosition.InsideNE);
        add(chart, "first requests", points, Growth.Point::first);
        add(chart, "replays", points, Growth.Point::replay);
        BitmapEncoder.saveBitmap(chart, file.toString(), BitmapFormat.PNG);
    }

    private static void add(
            XYChart chart, String name, List<Growth.Point> points, Function<Growth.Point, Comparison.Result> kind) {
        List<Double> rows = new ArrayList<>();
        List<Double> ratios = new ArrayList<>();
        List<Double> errors = new ArrayList<>();
        for (Growth.Point point : points) {
            Comparison.Result result = kind.apply(point);
            rows.add((double) point.rows());
            ratios.add(result.ratio());
            errors.add(Math.max(result.high() - result.ratio(), result.ratio() - result.low()));
        }
        chart.addSeries(name, rows, ratios, errors);
    }
}
