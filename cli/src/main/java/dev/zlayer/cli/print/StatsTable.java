package dev.zlayer.cli.print;

import dev.zlayer.json.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** What containers use, one line each. */
public final class StatsTable {
  private StatsTable() {}

  public static String of(List<Json> readings) {
    boolean gpus = readings.stream().anyMatch(reading -> !reading.at("gpu_memory_bytes").isNull());
    var headings =
        new ArrayList<>(
            List.of(
                "NAME", "CPU %", "MEMORY", "LIMIT", "MEM %", "PIDS", "NET IN/OUT", "BLOCK R/W"));
    boolean nodes = readings.stream().anyMatch(reading -> !reading.at("node").isNull());
    if (nodes) {
      headings.add(1, "NODE");
    }
    if (gpus) {
      headings.addAll(List.of("GPU %", "GPU MEMORY"));
    }
    var table = new Table(headings.toArray(String[]::new));
    for (Json reading : Names.sorted(readings)) {
      var cells =
          new ArrayList<>(
              List.of(
                  Names.of(reading),
                  percent(reading.at("cpu_percent")),
                  bytes(reading, "memory_bytes"),
                  bytes(reading, "memory_limit_bytes"),
                  memoryPercent(reading),
                  reading.at("pids").integer().map(String::valueOf).orElse("-"),
                  bytes(reading, "network_received_bytes")
                      + " / "
                      + bytes(reading, "network_sent_bytes"),
                  bytes(reading, "block_read_bytes")
                      + " / "
                      + bytes(reading, "block_write_bytes")));
      if (nodes) {
        cells.add(1, reading.at("node").string().orElse("-"));
      }
      if (gpus) {
        cells.add(percent(reading.at("gpu_percent")));
        cells.add(bytes(reading, "gpu_memory_bytes"));
      }
      table.row(cells.toArray(String[]::new));
    }
    return table.toString();
  }

  private static String bytes(Json reading, String name) {
    return reading.at(name).integer().map(HumanUnits::bytes).orElse("-");
  }

  private static String percent(Json number) {
    return number instanceof Json.Num(Number value)
        ? String.format(Locale.ROOT, "%.1f", value.doubleValue())
        : "-";
  }

  private static String memoryPercent(Json reading) {
    long limit = reading.at("memory_limit_bytes").integer().orElse(0L);
    return limit <= 0
        ? "-"
        : String.format(
            Locale.ROOT, "%.1f", 100.0 * reading.at("memory_bytes").integer().orElse(0L) / limit);
  }
}
