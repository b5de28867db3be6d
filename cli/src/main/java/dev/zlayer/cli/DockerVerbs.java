package dev.zlayer.cli;

import java.util.Map;
import java.util.Optional;

/** Verbs that people know from Docker and that have another name here, or none. */
final class DockerVerbs {
  private static final Map<String, String> NAMES =
      Map.ofEntries(
          Map.entry("images", "image ls"),
          Map.entry("rmi", "image rm"),
          Map.entry("load", "image load"),
          Map.entry("save", "image save"),
          Map.entry("import", "image import"),
          Map.entry("tag", "image tag"),
          Map.entry("history", "image history"),
          Map.entry("volumes", "volume ls"),
          Map.entry("networks", "network ls"),
          Map.entry("compose", "up"),
          Map.entry("stack", "up"),
          Map.entry("service", "status"),
          Map.entry("containers", "ps"),
          Map.entry("ls", "ps"),
          Map.entry("apply", "up"),
          Map.entry("delete", "down"),
          Map.entry("describe", "inspect"),
          Map.entry("get", "ps"),
          Map.entry("dockerd", "serve"));

  private static final Map<String, String> ABSENT =
      Map.of(
          "buildx", "BuildKit is not part of zlayer; use 'zlayer build'",
          "search", "zlayer does not search registries; 'zlayer pull IMAGE' fetches an image",
          "swarm", "zlayer runs on single nodes; 'zlayer up' applies a deployment file",
          "plugin", "zlayer has no plugins");

  private DockerVerbs() {}

  /** What to type instead, or why there is no such verb. */
  static Optional<String> hint(String word) {
    return Optional.ofNullable(NAMES.get(word))
        .map(name -> "use 'zlayer " + name + "'")
        .or(() -> Optional.ofNullable(ABSENT.get(word)));
  }
}
