package dev.zlayer.cli.doctor;

import dev.zlayer.json.Json;
import java.util.Locale;

/**
 * The result of one check.
 *
 * @param detail what was found
 * @param remedy what to do; empty when nothing is to be done
 */
public record Finding(String check, Status status, String detail, String remedy) {
  /** How it stands; only {@code FAILED} means that zlayer cannot work. */
  public enum Status {
    OK,
    WARNING,
    FAILED,
    SKIPPED;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  static Finding ok(String check, String detail) {
    return new Finding(check, Status.OK, detail, "");
  }

  static Finding warning(String check, String detail, String remedy) {
    return new Finding(check, Status.WARNING, detail, remedy);
  }

  static Finding failed(String check, String detail, String remedy) {
    return new Finding(check, Status.FAILED, detail, remedy);
  }

  /** What could not be checked, and what would make it possible. */
  static Finding skipped(String check, String detail, String remedy) {
    return new Finding(check, Status.SKIPPED, detail, remedy);
  }

  public Json json() {
    Json.Builder json =
        Json.object().put("check", check).put("status", status.toString()).put("detail", detail);
    return remedy.isEmpty() ? json.build() : json.put("remedy", remedy).build();
  }
}
