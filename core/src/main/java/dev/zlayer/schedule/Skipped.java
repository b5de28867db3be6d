package dev.zlayer.schedule;

import dev.zlayer.json.Json;
import java.time.Instant;

/**
 * Occurrences in a row that were not run.
 *
 * @param count how many; beyond {@link CronPlanner#MOST_COUNTED} they are not counted any more
 */
public record Skipped(Instant first, Instant last, long count, String reason) {
  public Json json() {
    return Json.object()
        .put("first", first)
        .put("last", last)
        .put("count", count)
        .put("reason", reason)
        .build();
  }

  public static Skipped read(Json json) {
    return new Skipped(
        Instant.parse(json.at("first").string().orElseThrow()),
        Instant.parse(json.at("last").string().orElseThrow()),
        json.at("count").integer().orElse(1L),
        json.at("reason").string().orElse(""));
  }
}
