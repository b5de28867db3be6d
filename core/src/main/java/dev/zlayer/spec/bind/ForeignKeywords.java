package dev.zlayer.spec.bind;

import dev.zlayer.spec.problem.Nearest;
import java.util.List;
import java.util.Map;

/** Words that people bring along from other tools, and what is written here instead. */
final class ForeignKeywords {
  private static final int SHORT_LIST = 12;
  private static final Map<String, String> INSTEAD =
      Map.ofEntries(
          Map.entry("volumes", "storage"),
          Map.entry("mounts", "storage"),
          Map.entry("ports", "port_mappings"),
          Map.entry("environment", "env"),
          Map.entry("depends_on", "depends"),
          Map.entry("healthcheck", "health"),
          Map.entry("restart", "restart_policy"),
          Map.entry("replicas", "scale"),
          Map.entry("instances", "scale"),
          Map.entry("deploy", "scale"),
          Map.entry("entrypoint", "command"),
          Map.entry("args", "command"),
          Map.entry("working_dir", "command"),
          Map.entry("name", "deployment"),
          Map.entry("limits", "resources"),
          Map.entry("logging", "logs"),
          Map.entry("cron_schedule", "schedule"),
          Map.entry("type", "rtype"),
          Map.entry("containers", "services"));

  private ForeignKeywords() {}

  static String hint(String typed, List<String> keys) {
    return Nearest.to(typed, keys)
        .map(word -> ", did you mean '" + word + "'?")
        .or(
            () ->
                java.util.Optional.ofNullable(INSTEAD.get(typed))
                    .filter(keys::contains)
                    .map(word -> ", write '" + word + "' instead"))
        .orElseGet(() -> known(keys));
  }

  private static String known(List<String> keys) {
    if (keys.isEmpty()) {
      return ", remove it: nothing can be set here";
    }
    return keys.size() > SHORT_LIST
        ? ", remove it (docs/spec.md lists what can be written here)"
        : ", write one of: " + String.join(", ", keys);
  }
}
