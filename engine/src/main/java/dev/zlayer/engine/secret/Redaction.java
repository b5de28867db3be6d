package dev.zlayer.engine.secret;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Replaces the values of secrets in texts for people. A value of fewer than four characters is not
 * looked for: it would be found in every text. Of a secret that is a JSON object each text inside
 * is hidden too, of one with several lines each longer line.
 */
public final class Redaction {
  /** Hides nothing. */
  public static final Redaction NOTHING = new Redaction(List.of());

  public static final String MARK = "[secret]";

  private static final int SHORTEST = 4;
  private static final int SHORTEST_LINE = 12;

  /** Longest first, so that no part of a longer one is left over. */
  private final List<String> hidden;

  private Redaction(List<String> hidden) {
    this.hidden = hidden;
  }

  /** Hides these values too. */
  public Redaction with(Collection<String> values) {
    Set<String> all = new HashSet<>(hidden);
    for (String value : values) {
      add(value, SHORTEST, all);
      value.lines().forEach(line -> add(line, SHORTEST_LINE, all));
      addFields(value, all);
    }
    return new Redaction(
        all.stream()
            .sorted(
                Comparator.comparingInt(String::length)
                    .reversed()
                    .thenComparing(Comparator.naturalOrder()))
            .toList());
  }

  public String text(String text) {
    String result = text;
    for (String value : hidden) {
      result = result.replace(value, MARK);
    }
    return result;
  }

  public Map<String, String> map(Map<String, String> values) {
    var result = new LinkedHashMap<String, String>();
    values.forEach((name, value) -> result.put(name, text(value)));
    return result;
  }

  /** Every text in a tree; names of members are left as they are. */
  public Json json(Json tree) {
    return switch (tree) {
      case Json.Str(String text) -> new Json.Str(text(text));
      case Json.Arr(var items) -> new Json.Arr(items.stream().map(this::json).toList());
      case Json.Obj(var members) -> {
        var result = new LinkedHashMap<String, Json>();
        members.forEach((name, value) -> result.put(name, json(value)));
        yield new Json.Obj(result);
      }
      case Json.Num _, Json.Bool _, Json.Null _ -> tree;
    };
  }

  private static void add(String value, int shortest, Set<String> all) {
    String stripped = value.strip();
    if (stripped.length() >= shortest) {
      all.add(stripped);
    }
  }

  private static void addFields(String value, Set<String> all) {
    if (!value.strip().startsWith("{")) {
      return;
    }
    try {
      JsonText.parse(value)
          .members()
          .values()
          .forEach(field -> field.string().ifPresent(text -> add(text, SHORTEST, all)));
    } catch (AgentException.InvalidSpec _) {
      // not JSON: it is hidden as a whole
    }
  }
}
