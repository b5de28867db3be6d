package dev.zlayer.runtime.docker;

import dev.zlayer.container.Stats;
import dev.zlayer.json.Json;
import java.time.Instant;
import java.time.OffsetDateTime;

/** One reading of the engine. */
final class DockerStatsReading {
  private DockerStatsReading() {}

  static Stats of(Json json, Inspection container) {
    Json memory = json.at("memory_stats");
    return new Stats(
        json.at("read")
            .string()
            .map(text -> OffsetDateTime.parse(text).toInstant())
            .orElse(Instant.EPOCH),
        number(json.at("cpu_stats").at("cpu_usage").at("total_usage")),
        Math.max(0, number(memory.at("usage")) - reclaimable(memory.at("stats"))),
        container.memoryLimit(),
        number(json.at("pids_stats").at("current")),
        container.pidsLimit(),
        blockIo(json, "read"),
        blockIo(json, "write"),
        network(json, "rx_bytes"),
        network(json, "tx_bytes"));
  }

  /** File cache that nobody used lately; the name tells the version of the kernel's groups. */
  private static long reclaimable(Json stats) {
    Json v1 = stats.at("total_inactive_file");
    return number(v1.isNull() ? stats.at("inactive_file") : v1);
  }

  private static long blockIo(Json json, String operation) {
    return json.at("blkio_stats").at("io_service_bytes_recursive").items().stream()
        .filter(entry -> entry.at("op").string().orElse("").equalsIgnoreCase(operation))
        .mapToLong(entry -> number(entry.at("value")))
        .sum();
  }

  private static long network(Json json, String counter) {
    return json.at("networks").members().values().stream()
        .mapToLong(network -> number(network.at(counter)))
        .sum();
  }

  private static long number(Json json) {
    return json.integer().orElse(0L);
  }
}
