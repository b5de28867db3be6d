package dev.zlayer.daemon.docker;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * What a listing is limited to. Clients write {@code {"label":{"a=b":true}}} or {@code
 * {"label":["a=b"]}}; both mean the same.
 */
record DockerFilters(Map<String, List<String>> values) {
  static final DockerFilters NONE = new DockerFilters(Map.of());

  DockerFilters {
    values = Map.copyOf(values);
  }

  /**
   * Reads them.
   *
   * @param known filters of this listing; another one is refused
   */
  static DockerFilters parse(Optional<String> text, Set<String> known) {
    if (text.isEmpty()) {
      return NONE;
    }
    Json json;
    try {
      json = JsonText.parse(text.get());
    } catch (AgentException.InvalidSpec e) {
      throw DockerError.badRequest("invalid filters: " + e.getMessage());
    }
    if (!(json instanceof Json.Obj) && !json.isNull()) {
      throw DockerError.badRequest("invalid filters: an object of lists or maps is expected");
    }
    var values = new LinkedHashMap<String, List<String>>();
    json.members()
        .forEach(
            (name, value) -> {
              if (!known.contains(name)) {
                throw DockerError.badRequest("invalid filter '" + name + "'");
              }
              values.put(name, list(name, value));
            });
    return new DockerFilters(values);
  }

  private static List<String> list(String name, Json value) {
    boolean clear =
        value.strings().size() == value.items().size()
            && value.members().values().stream().allMatch(one -> one.bool().isPresent());
    if (!clear) {
      throw DockerError.badRequest("invalid filter '" + name + "'");
    }
    return switch (value) {
      case Json.Arr _ -> value.strings();
      case Json.Obj(var members) ->
          members.entrySet().stream()
              .filter(entry -> entry.getValue().bool().orElse(false))
              .map(Map.Entry::getKey)
              .toList();
      case Json.Str(String one) -> List.of(one);
      case Json.Null _ -> List.of();
      default -> throw DockerError.badRequest("invalid filter '" + name + "'");
    };
  }

  List<String> get(String name) {
    return values.getOrDefault(name, List.of());
  }

  boolean has(String name) {
    return !get(name).isEmpty();
  }

  /** Whether nothing is asked of this name, or one of what is asked holds. */
  boolean any(String name, Predicate<String> matches) {
    return get(name).isEmpty() || get(name).stream().anyMatch(matches);
  }

  /** Whether all labels that are asked for are there, and none that is asked not to be. */
  boolean labels(Supplier<Map<String, String>> labels) {
    return (!has("label") && !has("label!")) || labels(labels.get());
  }

  /** The same for who has them. */
  boolean labels(Map<String, String> labels) {
    return get("label").stream().allMatch(asked -> label(asked, labels))
        && get("label!").stream().noneMatch(asked -> label(asked, labels));
  }

  private static boolean label(String asked, Map<String, String> labels) {
    int equals = asked.indexOf('=');
    return equals < 0
        ? labels.containsKey(asked)
        : asked.substring(equals + 1).equals(labels.get(asked.substring(0, equals)));
  }

  /** The one value of a switch. */
  Optional<Boolean> flag(String name) {
    List<String> given = get(name);
    if (given.isEmpty()) {
      return Optional.empty();
    }
    return switch (given.getFirst()) {
      case "1", "true", "True", "t" -> Optional.of(true);
      case "0", "false", "False", "f" -> Optional.of(false);
      default ->
          throw DockerError.badRequest(
              "invalid filter '%s=[%s]'".formatted(name, given.getFirst()));
    };
  }
}
