package dev.zlayer.engine.secret;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.nio.charset.StandardCharsets;
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

  /** The same as bytes of UTF-8, one character each, for output that need not be text. */
  private final List<String> hiddenBytes;

  private Redaction(List<String> hidden) {
    this.hidden = hidden;
    this.hiddenBytes = hidden.stream().map(Redaction::byteByByte).toList();
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

  public boolean isEmpty() {
    return hidden.isEmpty();
  }

  /** Output with the values replaced and every other byte as it was. */
  byte[] bytes(byte[] output) {
    String text = new String(output, StandardCharsets.ISO_8859_1);
    String result = text;
    for (String value : hiddenBytes) {
      result = result.replace(value, MARK);
    }
    return result.equals(text) ? output : result.getBytes(StandardCharsets.ISO_8859_1);
  }

  /** How many bytes are replaced or left the same way whatever follows them. */
  int settled(byte[] output) {
    String text = new String(output, StandardCharsets.ISO_8859_1);
    int settled = text.length() - begun(text);
    boolean torn = true;
    while (torn) {
      torn = false;
      for (String value : hiddenBytes) {
        int found = text.indexOf(value, settled - value.length() + 1);
        if (found >= 0 && found < settled) {
          settled = found;
          torn = true;
        }
      }
    }
    return settled;
  }

  /** How many bytes at the end may be the beginning of a value that continues. */
  private int begun(String text) {
    int longest = 0;
    for (String value : hiddenBytes) {
      for (int length = Math.min(value.length() - 1, text.length()); length > longest; length--) {
        if (text.regionMatches(text.length() - length, value, 0, length)) {
          longest = length;
        }
      }
    }
    return longest;
  }

  private static String byteByByte(String value) {
    return new String(value.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
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
