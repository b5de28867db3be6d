package dev.zlayer.daemon.config;

import dev.zlayer.json.Json;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A configuration and where each of its values came from.
 *
 * @param values every key with its value, in the order of the reference
 */
public record Configured(AgentConfig config, Map<String, Value> values) {
  public Configured {
    values = Collections.unmodifiableMap(new LinkedHashMap<>(values));
  }

  /** A value as text and its source: "default", a file, a variable or a flag. */
  public record Value(String text, String source) {}

  public Json json() {
    var json = Json.object();
    values.forEach(
        (key, value) ->
            json.put(
                key,
                Json.object().put("value", value.text()).put("source", value.source()).build()));
    return json.build();
  }
}
