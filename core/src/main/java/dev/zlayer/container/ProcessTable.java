package dev.zlayer.container;

import java.util.List;

/** The processes inside a container as a table. */
public record ProcessTable(List<String> titles, List<List<String>> rows) {
  public ProcessTable {
    titles = List.copyOf(titles);
    rows = List.copyOf(rows);
  }
}
