package dev.zlayer.bench;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/**
 * One page with all figures that lie in a directory as JSON: no script, nothing loaded from
 * elsewhere. Bars show medians, the thin line reaches to p95, dots are the single rounds.
 */
final class HtmlReport {
  private static final int PLOT = 560;
  private static final int LINE = 22;
  private static final String HEAD =
      """
      <!doctype html>
      <html lang="en"><meta charset="utf-8"><title>zlayer beside its peers</title>
      <style>
      body { font: 15px/1.5 system-ui, sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; color: #222 }
      h2 { margin-top: 2em } h3 { margin: 1.4em 0 .3em; font-weight: 600 }
      table { border-collapse: collapse } td, th { padding: 1px 10px; text-align: right; white-space: nowrap }
      td:first-child, th:first-child, td:last-child { text-align: left } th { font-weight: 500; color: #777 }
      .ours { fill: #2563eb } .peer { fill: #b6bcc6 } .line { stroke: #555 } .dot { fill: #111; opacity: .28 }
      tr.ours td { font-weight: 600 } small, dt { color: #777 } dl { display: grid; grid-template-columns: 8em 1fr; margin: 0 } dd { margin: 0 }
      @media (prefers-color-scheme: dark) { body { background: #16181d; color: #ddd } .dot { fill: #fff } .peer { fill: #555c69 } }
      </style>
      <h1>zlayer beside its peers</h1>
      <p>Contestants take turns round by round in one run, so that noise hits all alike: ratios travel, milliseconds do not.</p>
      """;

  private HtmlReport() {}

  /** Writes {@code report.html} beside the figures it is made of. */
  static Path write(Path directory) throws IOException {
    var page = new StringBuilder(HEAD);
    for (Path file : figures(directory)) {
      work(page, JsonText.parse(Files.readAllBytes(file)));
    }
    return Files.writeString(directory.resolve("report.html"), page.append("</html>\n"));
  }

  private static List<Path> figures(Path directory) throws IOException {
    try (var files = Files.list(directory)) {
      return files.filter(file -> file.toString().endsWith(".json")).sorted().toList();
    }
  }

  private static void work(StringBuilder page, Json work) {
    page.append("<h2>").append(escaped(text(work, "work"))).append("</h2>\n");
    for (Json table : work.at("tables").items()) {
      table(page, table);
    }
    page.append("<details><summary><small>machine</small></summary><dl>\n");
    work.at("machine")
        .members()
        .forEach(
            (name, value) ->
                page.append("<dt>%s<dd>%s\n".formatted(escaped(name), escaped(plain(value)))));
    page.append(
        "<dt>others<dd>%s cores busy with other things\n"
            .formatted(print(value(work, "othersCores"))));
    page.append("</dl></details>\n");
  }

  private static void table(StringBuilder page, Json table) {
    List<Json> rows = table.at("rows").items();
    page.append(
        "<h3>%s <small>[%s]</small></h3>\n"
            .formatted(escaped(text(table, "title")), escaped(text(table, "unit"))));
    plot(page, rows);
    page.append("<table><tr><th><th>median<th>p95<th>ratio<th>cpu ms<th>\n");
    for (Json row : rows) {
      page.append(
          "<tr class=\"%s\"><td>%s<td>%s<td>%s<td>%s<td>%s<td>%s\n"
              .formatted(
                  side(row),
                  escaped(text(row, "contestant")),
                  print(value(row, "median")),
                  print(value(row, "p95")),
                  print(value(row, "ratio")),
                  print(value(row, "cpuSeconds") * 1000),
                  escaped(text(row, "note"))));
    }
    page.append("</table>\n");
  }

  private static void plot(StringBuilder page, List<Json> rows) {
    double most = rows.stream().mapToDouble(HtmlReport::largest).max().orElse(0);
    if (!(most > 0)) {
      return;
    }
    page.append(
        "<svg width=\"%d\" height=\"%d\" role=\"img\">\n".formatted(PLOT, rows.size() * LINE));
    int top = 4;
    for (Json row : rows) {
      bar(page, row, PLOT / most, top);
      top += LINE;
    }
    page.append("</svg>\n");
  }

  private static void bar(StringBuilder page, Json row, double scale, int top) {
    double median = value(row, "median");
    if (Double.isNaN(median)) {
      return;
    }
    int middle = top + 7;
    page.append(
        String.format(
            Locale.ROOT,
            "<rect class=\"%s\" y=\"%d\" width=\"%.1f\" height=\"14\"><title>%s</title></rect>"
                + "<line class=\"line\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>",
            side(row),
            top,
            median * scale,
            escaped(text(row, "contestant")),
            median * scale,
            value(row, "p95") * scale,
            middle,
            middle));
    for (Json sample : row.at("samples").items()) {
      page.append(
          String.format(
              Locale.ROOT,
              "<circle class=\"dot\" cx=\"%.1f\" cy=\"%d\" r=\"2\"/>",
              number(sample) * scale,
              middle));
    }
    page.append('\n');
  }

  private static double largest(Json row) {
    return row.at("samples").items().stream().mapToDouble(HtmlReport::number).max().orElse(0);
  }

  private static String side(Json row) {
    return text(row, "contestant").startsWith("zlayer") ? "ours" : "peer";
  }

  private static String text(Json json, String member) {
    return json.at(member).string().orElse("");
  }

  private static String plain(Json value) {
    return value.string().orElseGet(() -> JsonText.print(value));
  }

  private static double value(Json json, String member) {
    return number(json.at(member));
  }

  private static double number(Json json) {
    return json instanceof Json.Num(var value) ? value.doubleValue() : Double.NaN;
  }

  private static String print(double value) {
    return Double.isNaN(value)
        ? ""
        : String.format(Locale.ROOT, value < 100 ? "%.2f" : "%.0f", value);
  }

  private static String escaped(String text) {
    return text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\"", "&quot;");
  }
}
