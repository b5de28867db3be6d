package dev.zlayer.proxy.ingress;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What HAProxy counted for a backend or one of its servers since it or the agent started.
 *
 * @param perSecond requests of the last second
 * @param statuses responses by the first digit of their status, {@code 1xx} to {@code 5xx}
 * @param failures connections that a replica refused, or ended without a response
 * @param open requests that are under way
 * @param averageMillis of the last 1,024 requests
 */
public record Traffic(
    long perSecond,
    long requests,
    Map<String, Long> statuses,
    long failures,
    long open,
    long averageMillis) {
  public static final Traffic NONE = new Traffic(0, 0, Map.of(), 0, 0, 0);
  private static final String BACKEND = "BACKEND";
  private static final String SEPARATOR = "/";

  public Traffic {
    statuses = Map.copyOf(statuses);
  }

  /** Responses with a status from 500 on. */
  public long errors() {
    return statuses.getOrDefault("5xx", 0L);
  }

  /** Counts add up; what is of the moment is that of {@code now}. */
  static Map<String, Traffic> sum(Map<String, Traffic> before, Map<String, Traffic> now) {
    var all = new HashMap<>(before);
    now.forEach((name, one) -> all.merge(name, one, Traffic::plus));
    return all;
  }

  private Traffic plus(Traffic now) {
    var sums = new TreeMap<>(statuses);
    now.statuses.forEach((status, count) -> sums.merge(status, count, Long::sum));
    return new Traffic(
        now.perSecond,
        requests + now.requests,
        sums,
        failures + now.failures,
        now.open,
        now.averageMillis);
  }

  /** By backend, and by backend, a slash and server. */
  static Map<String, Traffic> parse(String csv) {
    List<String> lines =
        csv.lines()
            .dropWhile(line -> !line.startsWith("# ")) // as for a backend that it does not have
            .filter(line -> !line.isBlank())
            .toList();
    var all = new HashMap<String, Traffic>();
    if (lines.isEmpty()) {
      return all;
    }
    List<String> columns = List.of(lines.getFirst().substring(2).split(",", -1));
    for (String line : lines.subList(1, lines.size())) {
      if (line.startsWith("# ")) {
        continue; // the answer to a further command of the same line
      }
      String[] cells = line.split(",", -1);
      if (cells.length >= columns.size() - 1) {
        String server = cells[1];
        if (!server.equals("FRONTEND")) {
          all.put(
              server.equals(BACKEND) ? cells[0] : cells[0] + SEPARATOR + server,
              of(columns, cells));
        }
      }
    }
    return all;
  }

  private static Traffic of(List<String> columns, String[] cells) {
    var statuses = new TreeMap<String, Long>();
    for (int digit = 1; digit <= 5; digit++) {
      String name = digit + "xx";
      statuses.put(name, number(columns, cells, "hrsp_" + name));
    }
    return new Traffic(
        number(columns, cells, "rate"),
        number(columns, cells, "stot"),
        statuses,
        number(columns, cells, "econ") + number(columns, cells, "eresp"),
        number(columns, cells, "scur"),
        number(columns, cells, "ttime"));
  }

  private static long number(List<String> columns, String[] cells, String name) {
    int column = columns.indexOf(name);
    if (column < 0 || column >= cells.length || !cells[column].matches("[0-9]{1,18}")) {
      return 0;
    }
    return Long.parseLong(cells[column]);
  }
}
