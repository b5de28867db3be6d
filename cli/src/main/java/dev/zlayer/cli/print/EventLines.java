package dev.zlayer.cli.print;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** One event on one line. */
public final class EventLines {
  private EventLines() {}

  public static String of(Json event, Style style) {
    Optional<String> execution = event.at("facts").at("execution").string();
    // what a container is made of is for programs: --json has it
    Set<String> hidden =
        execution.isPresent() ? Set.of("container", "execution", "job") : Set.of("container");
    String facts =
        event.at("facts").members().entrySet().stream()
            .filter(fact -> !fact.getValue().isNull() && !hidden.contains(fact.getKey()))
            .map(fact -> fact.getKey() + "=" + text(brief(fact.getValue())))
            .collect(Collectors.joining(" "));
    return "%s%s %s %s %s %s"
        .formatted(
            style.faint(event.at("seq").integer().map(String::valueOf).orElse("-")),
            event.at("node").string().map(node -> " " + node).orElse(""),
            event.at("time").string().orElse("-"),
            style.bold(event.at("kind").string().orElse("?")),
            execution.orElseGet(
                () -> event.at("subject").string().orElse("").replaceFirst("@\\d+$", "")),
            facts)
        .stripTrailing();
  }

  /** One record of the audit log. */
  public static String audit(Json record) {
    String object =
        record.at("object").members().entrySet().stream()
            .map(name -> name.getKey() + "=" + text(name.getValue()))
            .collect(Collectors.joining(" "));
    return "%s %s by %s via %s: %s %s %s"
        .formatted(
            record.at("time").string().orElse("-"),
            record.at("status").integer().map(String::valueOf).orElse("-"),
            record.at("who").string().orElse("-"),
            record.at("remote").string().or(() -> record.at("listener").string()).orElse("-"),
            record.at("method").string().orElse("-"),
            record.at("route").string().orElse("-"),
            object)
        .stripTrailing();
  }

  /** Of a failure only the message: the rest repeats what the event says. */
  private static Json brief(Json fact) {
    return fact.at("message").isNull() ? fact : fact.at("message");
  }

  private static String text(Json fact) {
    return fact.string()
        .map(text -> text.matches("[^\\s\"]+") ? text : JsonText.print(fact))
        .orElseGet(() -> JsonText.print(fact));
  }
}
