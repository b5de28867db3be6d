package dev.zlayer.cli.print;

import dev.zlayer.json.Json;
import java.util.Optional;

/** What a file would change, value by value. Pure. */
public final class DiffText {
  private DiffText() {}

  public static boolean changes(Json diff) {
    return diff.at("changes").items().stream()
        .anyMatch(change -> !StatusText.text(change, "action").equals("keep"));
  }

  public static String of(Json diff, Style style) {
    if (!changes(diff)) {
      return "nothing would change\n";
    }
    var lines = new StringBuilder();
    diff.at("changes").items().forEach(change -> service(change, style, lines));
    return lines.toString();
  }

  private static void service(Json change, Style style, StringBuilder lines) {
    String name = style.bold(StatusText.text(change, "service"));
    switch (StatusText.text(change, "action")) {
      case "create" -> lines.append("+ %s%n".formatted(name));
      case "remove" -> lines.append("- %s%n".formatted(name));
      case "update" -> {
        boolean replaces = change.at("replaces").bool().orElse(true);
        lines.append("~ %s%s%n".formatted(name, replaces ? " (replaces its containers)" : ""));
        change
            .at("runs")
            .integer()
            .ifPresent(
                runs ->
                    lines.append(
                        "    it runs revision %d since the last one was rolled back%n"
                            .formatted(runs)));
        change.at("values").items().forEach(value -> lines.append(value(value)));
      }
      default -> lines.append("  %s%n".formatted(name));
    }
  }

  private static String value(Json value) {
    String path = StatusText.text(value, "path");
    Optional<String> before = value.at("before").string();
    Optional<String> after = value.at("after").string();
    if (before.isEmpty()) {
      return "    + %s: %s%n".formatted(path, after.orElse(""));
    }
    return after.isEmpty()
        ? "    - %s: %s%n".formatted(path, before.get())
        : "    ~ %s: %s -> %s%n".formatted(path, before.get(), after.get());
  }
}
