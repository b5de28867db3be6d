package dev.zlayer.daemon.docker;

import dev.zlayer.container.ContainerId;
import dev.zlayer.daemon.standalone.StandaloneContainers;
import dev.zlayer.port.Container;
import java.util.List;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;

/** What containers are called, and names for those that were given none. */
final class ContainerNames {
  private static final List<String> ADJECTIVES =
      List.of(
          "able", "amber", "basic", "bold", "brave", "brief", "bright", "broad", "calm", "careful",
          "clear", "clever", "cool", "crisp", "deep", "deft", "direct", "eager", "early", "easy",
          "even", "exact", "fair", "fast", "firm", "fluent", "fresh", "gentle", "glad", "golden",
          "grand", "green", "handy", "happy", "honest", "keen", "kind", "large", "light", "lively",
          "loyal", "lucid", "mellow", "mild", "modest", "neat", "noble", "patient", "plain",
          "polite", "prompt", "proud", "quick", "quiet", "rapid", "ready", "robust", "round",
          "sharp", "silent", "simple", "sleek", "smart", "smooth", "solid", "stable", "steady",
          "sunny", "swift", "tidy", "usable", "vivid", "warm", "wise", "witty", "young");

  private static final List<String> NOUNS =
      List.of(
          "anchor",
          "apple",
          "arch",
          "atlas",
          "badger",
          "barge",
          "beacon",
          "birch",
          "bridge",
          "brook",
          "canal",
          "canyon",
          "cedar",
          "cloud",
          "comet",
          "compass",
          "coral",
          "crane",
          "delta",
          "dolphin",
          "dune",
          "eagle",
          "ember",
          "falcon",
          "fern",
          "ferry",
          "field",
          "fjord",
          "forest",
          "fox",
          "garden",
          "glacier",
          "grove",
          "harbour",
          "hawk",
          "heron",
          "hill",
          "island",
          "jetty",
          "juniper",
          "kite",
          "lagoon",
          "lake",
          "lantern",
          "lark",
          "ledge",
          "lighthouse",
          "linden",
          "lotus",
          "maple",
          "meadow",
          "mill",
          "moon",
          "nebula",
          "oak",
          "orbit",
          "orchard",
          "otter",
          "owl",
          "panda",
          "pebble",
          "pier",
          "pine",
          "planet",
          "prairie",
          "quarry",
          "raven",
          "reef",
          "ridge",
          "river",
          "robin",
          "rocket",
          "sail",
          "shore",
          "sparrow",
          "spring",
          "stork",
          "summit",
          "tern",
          "tide",
          "tower",
          "tulip",
          "valley",
          "willow");

  private ContainerNames() {}

  /** An adjective and a noun, with a number when many are taken. */
  static String free(RandomGenerator random, Predicate<String> taken) {
    for (int attempt = 0; ; attempt++) {
      String name =
          ADJECTIVES.get(random.nextInt(ADJECTIVES.size()))
              + "_"
              + NOUNS.get(random.nextInt(NOUNS.size()))
              + (attempt < 3 ? "" : Integer.toString(random.nextInt(1 << Math.min(attempt, 30))));
      if (!taken.test(name)) {
        return name;
      }
    }
  }

  /** Without the slash: as it was named, or for one of a deployment as compose would name it. */
  static String of(Container container) {
    ContainerId id = container.id();
    String given = container.name();
    if (!given.equals(id.runtimeName())) {
      return given;
    }
    if (StandaloneContainers.standalone(id)) {
      return id.service();
    }
    String role = id.role().equals(ContainerId.DEFAULT_ROLE) ? "" : "-" + id.role();
    long number = id.role().equals(ContainerId.JOB_ROLE) ? id.generation() : id.replica();
    String deployment =
        id.deployment().equals(ContainerId.NO_DEPLOYMENT) ? "" : id.deployment() + "-";
    return deployment + id.service() + role + "-" + number;
  }
}
