package dev.zlayer.runtime.lifecycle;

import dev.zlayer.json.Json;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * Brings a record of an earlier version up to date, one version after the other. Every version that
 * was ever released stays readable, and a file of each lies among the tests. Pure.
 */
final class RecordVersions {
  /** From version 1 to 2, from 2 to 3 ... */
  private static final List<UnaryOperator<Json.Obj>> STEPS =
      // version 1 was the whole record in one file, with the same members
      List.of(UnaryOperator.identity());

  private RecordVersions() {}

  /**
   * The record as the current version has it.
   *
   * @throws IOException it has no version, or one that only a later build can read
   */
  static Json.Obj upgrade(Path file, Json.Obj whole) throws IOException {
    long version = whole.at("version").integer().orElse(0L);
    if (version < 1 || version > LifecycleRecord.VERSION) {
      throw new IOException(
          "%s has version %d and this agent reads 1 to %d"
              .formatted(file, version, LifecycleRecord.VERSION));
    }
    Json.Obj upgraded = whole;
    for (int from = (int) version; from < LifecycleRecord.VERSION; from++) {
      upgraded = STEPS.get(from - 1).apply(upgraded);
    }
    return with(upgraded, LifecycleRecord.VERSION);
  }

  private static Json.Obj with(Json.Obj record, int version) {
    var json = Json.object();
    record.members().forEach(json::put);
    return json.put("version", version).build();
  }
}
