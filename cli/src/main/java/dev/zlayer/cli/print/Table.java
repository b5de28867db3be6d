package dev.zlayer.cli.print;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Columns as wide as their widest cell, two spaces apart, no trailing blanks. */
public final class Table {
  private final List<List<String>> rows = new ArrayList<>();

  public Table(String... titles) {
    rows.add(Arrays.stream(titles).map(Table::oneLine).toList());
  }

  public Table row(String... cells) {
    if (cells.length != rows.getFirst().size()) {
      throw new IllegalArgumentException(
          "%d cells for %d titles".formatted(cells.length, rows.getFirst().size()));
    }
    rows.add(Arrays.stream(cells).map(Table::oneLine).toList());
    return this;
  }

  /** A cell cannot begin another row. */
  private static String oneLine(String cell) {
    return TerminalText.escapeExceptColours(cell).replace("\n", "\\u000a").replace("\t", "\\u0009");
  }

  @Override
  public String toString() {
    int columns = rows.getFirst().size();
    int[] widths = new int[columns];
    for (List<String> row : rows) {
      for (int i = 0; i < columns; i++) {
        widths[i] = Math.max(widths[i], Style.width(row.get(i)));
      }
    }
    var text = new StringBuilder();
    for (List<String> row : rows) {
      var line = new StringBuilder();
      for (int i = 0; i < columns; i++) {
        line.append(row.get(i)).append(" ".repeat(widths[i] - Style.width(row.get(i)) + 2));
      }
      text.append(line.toString().stripTrailing()).append('\n');
    }
    return text.toString();
  }
}
