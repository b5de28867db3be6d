package dev.zlayer.runtime.oci.config;

import dev.zlayer.error.AgentException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Environment variables in the order in which later ones win. */
final class Environment {
  private static final String DEFAULT_PATH =
      "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

  private static final String LIBRARIES = "LD_LIBRARY_PATH";

  private final Map<String, String> variables = new LinkedHashMap<>();

  /** What every process gets unless the image or the spec says otherwise. */
  static Environment withDefaults(String hostname, boolean terminal) {
    var environment = new Environment();
    environment.variables.put("PATH", DEFAULT_PATH);
    environment.variables.put("HOSTNAME", hostname);
    if (terminal) {
      environment.variables.put("TERM", "xterm");
    }
    return environment;
  }

  /** Adds {@code NAME=value} lines as images have them; a line without a name is left out. */
  Environment addLines(List<String> lines) {
    for (String line : lines) {
      int equals = line.indexOf('=');
      if (equals > 0) {
        variables.put(line.substring(0, equals), line.substring(equals + 1));
      }
    }
    return this;
  }

  Environment add(Map<String, String> more) {
    more.forEach(
        (name, value) -> {
          if (name.isEmpty() || name.indexOf('=') >= 0 || (name + value).indexOf('\0') >= 0) {
            throw new AgentException.InvalidSpec(
                "'" + name + "' cannot be an environment variable: names are without = and NUL");
          }
          variables.put(name, value);
        });
    return this;
  }

  /**
   * What comes with devices; where their libraries are is added to the places that others named.
   */
  Environment addDevices(Map<String, String> more) {
    String before = variables.getOrDefault(LIBRARIES, "");
    add(more);
    String ours = more.getOrDefault(LIBRARIES, "");
    if (!before.isEmpty() && !ours.isEmpty()) {
      boolean known = List.of(before.split(":", -1)).contains(ours);
      variables.put(LIBRARIES, known ? before : before + ":" + ours);
    }
    return this;
  }

  List<String> lines() {
    return variables.entrySet().stream().map(e -> e.getKey() + "=" + e.getValue()).toList();
  }
}
