package dev.zlayer.cli.print;

import dev.zlayer.json.Json;
import java.util.List;
import java.util.Locale;

/** What containers use, one line each. */
public final class StatsTable {
  private StatsTable() {}

  public static String of(List<Json> readings) {
    var table =
        new Table("NAME", "CPU %", "MEMORY", "LIMIT", "MEM %", "PIDS", "NET IN/OUT", "BLOCK R/W");
    for (Json reading : Names.sorted(readings)) {
      table.row(
          Names.of(reading),
          percent(reading.at("cpu_percent")),
          bytes(reading, "memory_bytes"),
          bytes(reading, "memory_limit_bytes"),
          memoryPercent(reading),
          reading.at("pids").integer().map(String::valueOf).orElse("-"),
          bytes(reading, "network_received_bytes") + " / " + bytes(reading, "network_sent_bytes"),
          bytes(reading, "block_read_bytes") + " / " + bytes(reading, "block_write_bytes"));
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
