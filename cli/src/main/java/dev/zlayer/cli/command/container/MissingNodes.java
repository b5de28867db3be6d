package dev.zlayer.cli.command.container;

import dev.zlayer.json.Json;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;

/** Names nodes of a cluster that are away while something is followed, and when they are back. */
final class MissingNodes {
  private final Consumer<String> notices;
  private final String effect;
  private Set<String> away = Set.of();

  MissingNodes(Consumer<String> notices, String effect) {
    this.notices = notices;
    this.effect = effect;
  }

  /** Those that are away now. */
  void report(Json names) {
    Set<String> now = new TreeSet<>();
    names.items().forEach(name -> name.string().ifPresent(now::add));
    for (String name : now) {
      if (!away.contains(name)) {
        notices.accept("zlayer: '%s' does not answer%s".formatted(name, effect));
      }
    }
    for (String name : away) {
      if (!now.contains(name)) {
        notices.accept("zlayer: '%s' answers again".formatted(name));
      }
    }
    away = now;
  }
}
