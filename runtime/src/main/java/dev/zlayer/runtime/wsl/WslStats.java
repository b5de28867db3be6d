package dev.zlayer.runtime.wsl;

import dev.zlayer.container.Stats;
import dev.zlayer.json.Json;
import java.time.Instant;
import java.util.OptionalLong;

/** What {@code runc events --stats} prints, in our words. Pure. */
final class WslStats {
  /** The kernel's way of saying that there is none. */
  private static final long UNLIMITED = Long.MAX_VALUE >> 13 << 12;

  private WslStats() {}

  static Stats of(Instant time, Json event) {
    Json data = event.at("data");
    Json memory = data.at("memory");
    long used = number(memory.at("usage").at("usage"));
    long inactive =
        Math.max(
            number(memory.at("raw").at("total_inactive_file")),
            number(memory.at("raw").at("inactive_file")));
    return new Stats(
        time,
        number(data.at("cpu").at("usage").at("total")),
        Math.max(0, used - inactive),
        limit(memory.at("usage").at("limit")),
        number(data.at("pids").at("current")),
        limit(data.at("pids").at("limit")),
        bytes(data, "read"),
        bytes(data, "write"),
        network(data, "rx_bytes"),
        network(data, "tx_bytes"));
  }

  private static OptionalLong limit(Json json) {
    long value = number(json);
    return value <= 0 || value >= UNLIMITED ? OptionalLong.empty() : OptionalLong.of(value);
  }

  private static long bytes(Json data, String operation) {
    return data.at("blkio").at("ioServiceBytesRecursive").items().stream()
        .filter(entry -> operation.equalsIgnoreCase(entry.at("op").string().orElse("")))
        .mapToLong(entry -> number(entry.at("value")))
        .sum();
  }

  private static long network(Json data, String field) {
    return data.at("network_interfaces").items().stream()
        .mapToLong(entry -> number(entry.at(field)))
        .sum();
  }

  private static long number(Json json) {
    return json.integer().orElse(0L);
  }
}
