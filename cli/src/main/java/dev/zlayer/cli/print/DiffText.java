package dev.zlayer.cli.print;

import dev.zlayer.json.Json;
import java.util.List;
import java.util.Optional;
import java.util.Set;

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
    if (before.orElse("").contains("\n") || after.orElse("").contains("\n")) {
      return lines(path, before, after);
    }
    if (before.isEmpty()) {
      return "    + %s: %s%n".formatted(path, after.orElse(""));
    }
    return after.isEmpty()
        ? "    - %s: %s%n".formatted(path, before.get())
        : "    ~ %s: %s -> %s%n".formatted(path, before.get(), after.get());
  }

  /** Of a text of several lines those that one side has and the other has not. */
  private static String lines(String path, Optional<String> before, Optional<String> after) {
    List<String> old = before.orElse("").lines().toList();
    List<String> now = after.orElse("").lines().toList();
    String sign = before.isEmpty() ? "+" : after.isEmpty() ? "-" : "~";
    var text = new StringBuilder("    %s %s:%n".formatted(sign, path));
    old.stream()
        .filter(line -> !now.contains(line))
        .forEach(line -> text.append("        - %s%n".formatted(line)));
    now.stream()
        .filter(line -> !old.contains(line))
        .forEach(line -> text.append("        + %s%n".formatted(line)));
    if (Set.copyOf(old).equals(Set.copyOf(now))) {
      text.append("        the same lines in another order or number%n".formatted());
    }
    return text.toString();
  }
}
