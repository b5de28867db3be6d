package dev.zlayer.bench;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;

/** Prints the figures of each work as it ends, and keeps them as JSON. */
public final class Report {
  /** Begins the note of a figure that is not as good as it has to be. */
  public static final String MISSED = "MISSED";

  private final Path directory;
  private final PrintStream out;
  private final Json facts;

  public Report(Path directory, PrintStream out, Json facts) {
    this.directory = directory;
    this.out = out;
    this.facts = facts;
  }

  /**
   * What was measured of one contestant.
   *
   * @param cpu CPU seconds per round of everything but the registry
   * @param note what a reader has to know, such as an error; may be empty
   */
  public record Row(String contestant, Samples samples, OptionalDouble cpu, String note) {
    public static Row of(String contestant, Samples samples) {
      return new Row(contestant, samples, OptionalDouble.empty(), "");
    }

    public static Row failed(String contestant, String note) {
      return new Row(contestant, new Samples(List.of()), OptionalDouble.empty(), note);
    }

    /** A figure that must not be above a limit. */
    public static Row atMost(double limit, String contestant, double value, String note) {
      String verdict = verdict(limit, value, Double.toString(limit));
      return of(contestant, value, note.isEmpty() ? verdict : verdict + "; " + note);
    }

    public static Row of(String contestant, double value, String note) {
      return new Row(contestant, Samples.of(value), OptionalDouble.empty(), note);
    }
  }

  /**
   * What a note begins with whose figure must not be above a limit, which is called {@code bar}.
   */
  public static String verdict(double limit, double value, String bar) {
    return "%s the bar of %s".formatted(value <= limit ? "meets" : MISSED, bar);
  }

  /** One figure of all contestants; ratios are to {@code baseline}. */
  public record Table(String title, String unit, String baseline, List<Row> rows) {
    public Table {
      rows = List.copyOf(rows);
    }
  }

  /**
   * Prints and keeps the figures of one work.
   *
   * @param seconds how long it took
   * @param others how many cores were busy with what is not ours
   */
  public void add(String work, List<Table> tables, double seconds, double others) {
    add(
        work,
        tables,
        others,
        String.format(
            Locale.ROOT, "took %.0f s; others kept %.1f cores busy meanwhile", seconds, others));
  }

  /** The same of what was measured before. */
  void add(String work, List<Table> tables) {
    add(work, tables, 0, "as compared");
  }

  private void add(String work, List<Table> tables, double others, String circumstances) {
    for (Table table : tables) {
      print(table);
    }
    out.printf("   (%s %s)%n%n", work, circumstances);
    try {
      Files.createDirectories(directory);
      Files.writeString(
          directory.resolve(work + ".json"), JsonText.pretty(json(work, tables, others)) + "\n");
      HtmlReport.write(directory);
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  private void print(Table table) {
    out.printf("%n%s [%s]%n", table.title(), table.unit());
    String format = "   %-30s %10s %10s %7s %9s %7s  %s%n";
    out.printf(format, "", "median", "p95", "ratio", "cpu ms", "ratio", "");
    Row base = baseline(table);
    for (Row row : table.rows()) {
      out.printf(
          format,
          row.contestant(),
          number(row.samples().median()),
          row.samples().values().size() > 1 ? number(row.samples().p95()) : "",
          ratio(row.samples().median(), base.samples().median()),
          row.cpu().isPresent() ? number(row.cpu().getAsDouble() * 1000) : "",
          ratio(row.cpu().orElse(Double.NaN), base.cpu().orElse(Double.NaN)),
          row.note());
    }
  }

  private static Row baseline(Table table) {
    return table.rows().stream()
        .filter(row -> row.contestant().equals(table.baseline()))
        .findFirst()
        .orElse(Row.of("", new Samples(List.of())));
  }

  private static String number(double value) {
    return Double.isNaN(value)
        ? "-"
        : String.format(Locale.ROOT, value < 100 ? "%.2f" : "%.0f", value);
  }

  private static String ratio(double value, double base) {
    double ratio = value / base;
    return Double.isFinite(ratio) ? String.format(Locale.ROOT, "%.2f", ratio) : "";
  }

  private Json json(String work, List<Table> tables, double others) {
    var list = new ArrayList<Json>();
    for (Table table : tables) {
      Row base = baseline(table);
      list.add(
          Json.object()
              .put("title", table.title())
              .put("unit", table.unit())
              .put("baseline", table.baseline())
              .put("rows", table.rows().stream().map(row -> json(row, base)).toList())
              .build());
    }
    return Json.object()
        .put("work", work)
        .put("machine", facts)
        .put("othersCores", others)
        .put("tables", list)
        .build();
  }

  private static Json json(Row row, Row base) {
    Json.Builder json = Json.object().put("contestant", row.contestant());
    if (!row.samples().isEmpty()) {
      json.put("median", row.samples().median()).put("p95", row.samples().p95());
      if (!base.samples().isEmpty() && base.samples().median() != 0) {
        json.put("ratio", row.samples().median() / base.samples().median());
      }
    }
    row.cpu().ifPresent(cpu -> json.put("cpuSeconds", cpu));
    return json.put("note", row.note()).put("samples", row.samples().values()).build();
  }
}
