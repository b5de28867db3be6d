package dev.zlayer.bench;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Compares what two builds measured in turn: the ratio of each figure, one value for each turn. The
 * contestants that are no part of the builds tell how far a ratio is off when nothing changed.
 * Started by {@code ./benchmark --against}.
 */
public final class Against {
  private final String other;
  private final List<Path> before;
  private final List<Path> now;

  /**
   * Both lists have a directory of figures for each turn.
   *
   * @param other what the build before is called
   */
  Against(String other, List<Path> before, List<Path> now) {
    this.other = other;
    this.before = List.copyOf(before);
    this.now = List.copyOf(now);
  }

  /** Arguments: the name, the turns of the build before, those of this one, where to write. */
  public static void main(String[] arguments) throws Exception {
    var report = new Report(Path.of(arguments[3]), System.out, Facts.read());
    new Against(arguments[0], turns(Path.of(arguments[1])), turns(Path.of(arguments[2])))
        .tables()
        .forEach((work, tables) -> report.add(work, tables));
    System.out.println("ratios and plots: " + arguments[3] + "/report.html");
  }

  private static List<Path> turns(Path directory) throws IOException {
    try (var entries = Files.list(directory)) {
      return entries.sorted().toList();
    }
  }

  /** By work. */
  Map<String, List<Report.Table>> tables() throws IOException {
    List<Map<Figure, Json>> ours = read(now);
    List<Map<Figure, Json>> theirs = read(before);
    var figures = new TreeSet<Figure>();
    ours.forEach(turn -> figures.addAll(turn.keySet()));
    theirs.forEach(turn -> figures.addAll(turn.keySet()));
    Map<String, Map<String, List<Report.Row>>> works = new TreeMap<>();
    for (Figure figure : figures) {
      works
          .computeIfAbsent(figure.work(), _ -> new LinkedHashMap<>())
          .computeIfAbsent(figure.title() + ", in " + figure.unit(), _ -> new ArrayList<>())
          .add(row(figure, theirs, ours));
    }
    Map<String, List<Report.Table>> tables = new TreeMap<>();
    works.forEach(
        (work, titles) ->
            tables.put(
                work,
                titles.entrySet().stream()
                    .map(
                        entry ->
                            new Report.Table(
                                entry.getKey(), "times " + other, "", entry.getValue()))
                    .toList()));
    return tables;
  }

  /** What is compared. */
  private record Figure(String work, String title, String unit, String contestant)
      implements Comparable<Figure> {
    @Override
    public int compareTo(Figure that) {
      return java.util.Comparator.comparing(Figure::work)
          .thenComparing(Figure::title)
          .thenComparing(Figure::unit)
          .thenComparing(Figure::contestant)
          .compare(this, that);
    }
  }

  private static List<Map<Figure, Json>> read(List<Path> turns) throws IOException {
    var read = new ArrayList<Map<Figure, Json>>();
    for (Path turn : turns) {
      Map<Figure, Json> figures = new TreeMap<>();
      try (var files = Files.list(turn)) {
        for (Path file : files.filter(one -> one.toString().endsWith(".json")).toList()) {
          Json work = JsonText.parse(Files.readAllBytes(file));
          for (Json table : work.at("tables").items()) {
            for (Json row : table.at("rows").items()) {
              figures.put(
                  new Figure(
                      text(work, "work"),
                      text(table, "title"),
                      text(table, "unit"),
                      text(row, "contestant")),
                  row);
            }
          }
        }
      }
      read.add(figures);
    }
    return read;
  }

  private Report.Row row(
      Figure figure, List<Map<Figure, Json>> theirs, List<Map<Figure, Json>> ours) {
    var ratios = new ArrayList<Double>();
    var was = new ArrayList<Double>();
    var is = new ArrayList<Double>();
    double cpuWas = 0;
    double cpuIs = 0;
    for (int turn = 0; turn < Math.min(theirs.size(), ours.size()); turn++) {
      Json first = theirs.get(turn).getOrDefault(figure, Json.Null.INSTANCE);
      Json second = ours.get(turn).getOrDefault(figure, Json.Null.INSTANCE);
      OptionalDouble a = number(first, "median");
      OptionalDouble b = number(second, "median");
      if (a.isPresent() && b.isPresent() && a.getAsDouble() != 0) {
        was.add(a.getAsDouble());
        is.add(b.getAsDouble());
        ratios.add(b.getAsDouble() / a.getAsDouble());
        cpuWas += number(first, "cpuSeconds").orElse(Double.NaN);
        cpuIs += number(second, "cpuSeconds").orElse(Double.NaN);
      }
    }
    if (ratios.isEmpty()) {
      return Report.Row.failed(figure.contestant(), "not measured by both");
    }
    String cpu =
        cpuWas > 0 ? String.format(Locale.ROOT, "; %.2f times its CPU", cpuIs / cpuWas) : "";
    return new Report.Row(
        figure.contestant(),
        new Samples(ratios),
        OptionalDouble.empty(),
        String.format(
            Locale.ROOT,
            "%.2f, was %.2f%s",
            new Samples(is).median(),
            new Samples(was).median(),
            cpu));
  }

  private static OptionalDouble number(Json row, String member) {
    return row.at(member) instanceof Json.Num(var value)
        ? OptionalDouble.of(value.doubleValue())
        : OptionalDouble.empty();
  }

  private static String text(Json json, String member) {
    return json.at(member).string().orElse("");
  }
}
