package dev.zlayer.json;

import dev.zlayer.error.AgentException;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.api.lowlevel.Parse;
import org.snakeyaml.engine.v2.events.Event;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;

/** Reads YAML that has the shape of JSON, such as device specs of other projects. */
public final class YamlJson {
  private static final int DEEPEST = 100;

  /** With aliases counted as often as they are used. */
  private static final int MOST_VALUES = 100_000;

  private int left = MOST_VALUES;

  private YamlJson() {}

  /** Throws {@link AgentException.InvalidSpec} for anything but one such document. */
  public static Json parse(String text) {
    LoadSettings settings = LoadSettings.builder().build();
    try {
      requireShallow(new Parse(settings).parseString(text));
      return new YamlJson().tree(new Load(settings).loadFromString(text), 0);
    } catch (YamlEngineException e) {
      throw new AgentException.InvalidSpec("not YAML: " + e.getMessage(), e);
    }
  }

  /** Before anything recurses into it. */
  private static void requireShallow(Iterable<Event> events) {
    int depth = 0;
    for (Event event : events) {
      switch (event.getEventId()) {
        case MappingStart, SequenceStart -> depth++;
        case MappingEnd, SequenceEnd -> depth--;
        default -> {}
      }
      if (depth > DEEPEST) {
        throw tooDeep();
      }
    }
  }

  private static AgentException tooDeep() {
    return new AgentException.InvalidSpec("YAML is nested more than %d deep".formatted(DEEPEST));
  }

  private Json tree(@Nullable Object value, int depth) {
    if (depth > DEEPEST) {
      throw tooDeep(); // an alias for what it is in
    }
    if (--left < 0) {
      throw new AgentException.InvalidSpec(
          "YAML has more than %d values, aliases included".formatted(MOST_VALUES));
    }
    return switch (value) {
      case null -> Json.Null.INSTANCE;
      case Map<?, ?> map -> {
        var members = new java.util.LinkedHashMap<String, Json>();
        map.forEach((key, item) -> members.put(String.valueOf(key), tree(item, depth + 1)));
        yield new Json.Obj(members);
      }
      case Iterable<?> items -> {
        var list = new java.util.ArrayList<Json>();
        items.forEach(item -> list.add(tree(item, depth + 1)));
        yield new Json.Arr(list);
      }
      default -> Json.of(value);
    };
  }
}
