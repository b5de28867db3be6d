package dev.zlayer.cli.client;

import dev.zlayer.error.AgentException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/** Paths and queries of requests, encoded. */
public final class Query {
  public static final Query NONE = new Query(List.of());

  private static final Predicate<String> NAME =
      Pattern.compile("[^/\\\\%\\p{Cntrl}]+").asMatchPredicate();

  private final List<String> pairs;

  private Query(List<String> pairs) {
    this.pairs = List.copyOf(pairs);
  }

  public static Query of(String name, Object value) {
    return NONE.and(name, value);
  }

  public Query and(String name, Object value) {
    var more = new ArrayList<>(pairs);
    more.add(encode(name) + "=" + encode(String.valueOf(value)));
    return new Query(more);
  }

  public Query andIf(String name, Optional<?> value) {
    return value.map(present -> and(name, present)).orElse(this);
  }

  /** Only when it is true. */
  public Query flag(String name, boolean value) {
    return value ? and(name, true) : this;
  }

  public Query all(String name, Iterable<?> values) {
    Query query = this;
    for (Object value : values) {
      query = query.and(name, value);
    }
    return query;
  }

  /**
   * One segment of a path from whatever a person typed.
   *
   * @throws AgentException.InvalidSpec it would be none, or another one than it looks like: no
   *     daemon has something of that name
   */
  public static String segment(String text) {
    if (text.isEmpty() || text.equals(".") || text.equals("..") || !NAME.test(text)) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a name; write one without '/', '\\' and '%%'".formatted(text));
    }
    return encode(text);
  }

  @Override
  public String toString() {
    return pairs.isEmpty() ? "" : "?" + String.join("&", pairs);
  }

  private static String encode(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20").replace("%3A", ":");
  }
}
