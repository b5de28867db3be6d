package dev.zlayer.cli.print;

import dev.zlayer.json.Json;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Containers as {@code ps} shows them. */
public final class ContainerTable {
  private static final int LONGEST_IMAGE = 40;

  private ContainerTable() {}

  public static String of(List<Json> containers, Instant now, Style style) {
    boolean nodes = onNodes(containers);
    var headings = new ArrayList<>(List.of("NAME", "IMAGE", "STATE", "RESTARTS", "AGE", "PORTS"));
    if (nodes) {
      headings.add(1, "NODE");
    }
    var table = new Table(headings.toArray(String[]::new));
    for (Json container : Names.sorted(containers)) {
      var cells =
          new ArrayList<>(
              List.of(
                  Names.of(container),
                  shorten(container.at("image").string().orElse("-")),
                  style.state(state(container)),
                  container.at("restarts").integer().map(String::valueOf).orElse("-"),
                  age(container, now),
                  Ports.of(container)));
      if (nodes) {
        cells.add(1, container.at("node").string().orElse("-"));
      }
      table.row(cells.toArray(String[]::new));
    }
    return table.toString();
  }

  /** Whether they are of a cluster. */
  public static boolean onNodes(List<Json> all) {
    return all.stream().anyMatch(one -> one.at("node").string().isPresent());
  }

  /** {@code exited (3)}, {@code running (healthy)}: code and health belong to the state. */
  static String state(Json container) {
    String state = container.at("state").string().orElse("unknown");
    Optional<String> more =
        switch (state) {
          case "exited" -> container.at("exit").at("code").integer().map(String::valueOf);
          case "running" -> container.at("health").string();
          case "removed" -> container.at("status").string();
          default -> Optional.empty();
        };
    return more.map(text -> "%s (%s)".formatted(state, text)).orElse(state);
  }

  static String age(Json container, Instant now) {
    return container
        .at("started")
        .string()
        .or(() -> container.at("created").string())
        .or(() -> container.at("finished").string())
        .map(then -> HumanUnits.briefAge(Instant.parse(then), now))
        .orElse("-");
  }

  private static String shorten(String image) {
    return image.length() <= LONGEST_IMAGE
        ? image
        : "..." + image.substring(image.length() - LONGEST_IMAGE + 3);
  }
}
