package dev.zlayer.json;

import dev.zlayer.error.AgentException;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;

/** Reads YAML that has the shape of JSON, such as device specs of other projects. */
public final class YamlText {
  private YamlText() {}

  /** Throws {@link AgentException.InvalidSpec} for anything but one such document. */
  public static Json parse(String text) {
    try {
      return tree(new Load(LoadSettings.builder().build()).loadFromString(text));
    } catch (YamlEngineException e) {
      throw new AgentException.InvalidSpec("not YAML: " + e.getMessage(), e);
    }
  }

  private static Json tree(@Nullable Object value) {
    return switch (value) {
      case null -> Json.Null.INSTANCE;
      case Map<?, ?> map -> {
        var members = new java.util.LinkedHashMap<String, Json>();
        map.forEach((key, item) -> members.put(String.valueOf(key), tree(item)));
        yield new Json.Obj(members);
      }
      case Iterable<?> items -> {
        var list = new java.util.ArrayList<Json>();
        items.forEach(item -> list.add(tree(item)));
        yield new Json.Arr(list);
      }
      default -> Json.of(value);
    };
  }
}
