package dev.zlayer.daemon.config;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.spec.form.TextForm;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The text of a notification with names in braces, {@code {reason}}. A template that is JSON is
 * filled in string by string, so that no value can break out of its place.
 *
 * @param json the template as a tree, if it is JSON
 */
@TextForm(is = "text with names in braces such as {text}", example = "{node}: {text}")
public record NotificationTemplate(String text, Optional<Json> json) {
  public static final Set<String> NAMES =
      new java.util.TreeSet<>(
          Set.of("at", "kind", "node", "on", "reason", "sequence", "subject", "text"));

  private static final Pattern NAME = Pattern.compile("\\{([a-z_]+)\\}");

  public static NotificationTemplate parse(String text) {
    Matcher names = NAME.matcher(text);
    while (names.find()) {
      if (!NAMES.contains(names.group(1))) {
        throw new AgentException.InvalidSpec(
            "%s is not known in a template, use one of: %s"
                .formatted(names.group(), String.join(", ", NAMES)));
      }
    }
    boolean tree = text.strip().matches("(?s)[\\[{].*") && !NAME.matcher(text.strip()).lookingAt();
    return new NotificationTemplate(text, tree ? Optional.of(tree(text)) : Optional.empty());
  }

  private static Json tree(String text) {
    try {
      return JsonText.parse(text);
    } catch (AgentException e) {
      throw new AgentException.InvalidSpec(
          "the template begins like JSON and is none: " + e.getMessage(), e);
    }
  }

  public String contentType() {
    return json.isPresent() ? "application/json" : "text/plain; charset=utf-8";
  }

  /** Filled with a value for each of the {@link #NAMES}. */
  public String fill(Map<String, String> values) {
    return json.map(tree -> JsonText.print(filled(tree, values)))
        .orElseGet(() -> filled(text, values));
  }

  private static Json filled(Json tree, Map<String, String> values) {
    return switch (tree) {
      case Json.Str(String value) -> new Json.Str(filled(value, values));
      case Json.Arr(var items) ->
          new Json.Arr(items.stream().map(item -> filled(item, values)).toList());
      case Json.Obj(var members) -> {
        var result = new LinkedHashMap<String, Json>();
        members.forEach((key, value) -> result.put(key, filled(value, values)));
        yield new Json.Obj(result);
      }
      default -> tree;
    };
  }

  private static String filled(String text, Map<String, String> values) {
    return NAME.matcher(text)
        .replaceAll(
            name -> Matcher.quoteReplacement(values.getOrDefault(name.group(1), name.group())));
  }
}
