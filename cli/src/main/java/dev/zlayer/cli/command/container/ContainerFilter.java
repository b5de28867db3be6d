package dev.zlayer.cli.command.container;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import java.util.List;
import java.util.Map;
import java.util.function.BiPredicate;
import java.util.stream.Collectors;

/** Which containers somebody wants to see: {@code KEY=VALUE}, as Docker has it. */
final class ContainerFilter {
  private static final Map<String, BiPredicate<Json, String>> KEYS =
      Map.of(
          "id", (one, text) -> Containers.id(one).startsWith(text),
          "name", (one, text) -> Containers.name(one).contains(text),
          "status", (one, text) -> is(one, "state", text),
          "health", (one, text) -> is(one, "health", text),
          "deployment", (one, text) -> is(one, "deployment", text),
          "service", (one, text) -> is(one, "service", text),
          "ancestor",
              (one, text) ->
                  is(one, "image", text)
                      || is(one, "image_digest", text)
                      || is(one, "image", text + ":latest"),
          "exited",
              (one, text) ->
                  one.at("exit")
                      .at("code")
                      .integer()
                      .map(String::valueOf)
                      .filter(text::equals)
                      .isPresent(),
          "label", ContainerFilter::label);

  private ContainerFilter() {}

  /** Whether a filter asks for containers that do not run. */
  static boolean beyondRunning(List<String> filters) {
    return filters.stream().anyMatch(text -> text.matches("(status|exited)=.*"));
  }

  /** Values of one key are alternatives; keys all have to fit. */
  static List<Json> pass(List<Json> containers, List<String> filters) {
    Map<String, List<String>> byKey =
        filters.stream()
            .collect(
                Collectors.groupingBy(
                    ContainerFilter::key,
                    Collectors.mapping(
                        text -> text.substring(text.indexOf('=') + 1), Collectors.toList())));
    return containers.stream()
        .filter(
            one ->
                byKey.entrySet().stream()
                    .allMatch(
                        filter ->
                            filter.getValue().stream()
                                .anyMatch(
                                    text ->
                                        KEYS.getOrDefault(filter.getKey(), (_, _) -> false)
                                            .test(one, text))))
        .toList();
  }

  private static String key(String text) {
    int end = text.indexOf('=');
    if (end < 1 || !KEYS.containsKey(text.substring(0, end))) {
      throw new AgentException.InvalidSpec(
          "--filter '%s' is not KEY=VALUE; keys are %s"
              .formatted(text, KEYS.keySet().stream().sorted().collect(Collectors.joining(", "))));
    }
    return text.substring(0, end);
  }

  private static boolean is(Json container, String member, String text) {
    return container.at(member).string().filter(text::equals).isPresent();
  }

  private static boolean label(Json container, String text) {
    int end = text.indexOf('=');
    Json labels = container.at("labels");
    return end < 0
        ? labels.at(text).string().isPresent()
        : is(labels, text.substring(0, end), text.substring(end + 1));
  }
}
