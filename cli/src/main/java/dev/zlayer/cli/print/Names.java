package dev.zlayer.cli.print;

import dev.zlayer.json.Json;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Containers in the order of their names, replica 2 before replica 10. Pure. */
final class Names {
  private static final Pattern NUMBER = Pattern.compile("\\d{1,18}");

  private Names() {}

  /** Without the generation, which an ended replica has in its name. */
  static String of(Json container) {
    String name = container.at("name").string().or(() -> container.at("id").string()).orElse("?");
    return name.contains("/") ? name.replaceFirst("@\\d+$", "") : name;
  }

  /** Those of deployments first; single ones stay as they came, since their names mean nothing. */
  static List<Json> sorted(List<Json> containers) {
    return containers.stream().sorted(Names::compare).toList();
  }

  private static int compare(Json one, Json other) {
    int kind = Boolean.compare(single(one), single(other));
    return kind != 0 ? kind : key(one).compareTo(key(other));
  }

  private static boolean single(Json container) {
    return !of(container).contains("/");
  }

  private static String key(Json container) {
    return single(container)
        ? ""
        : NUMBER
            .matcher(of(container))
            .replaceAll(
                number ->
                    Matcher.quoteReplacement("%018d".formatted(Long.valueOf(number.group()))));
  }
}
