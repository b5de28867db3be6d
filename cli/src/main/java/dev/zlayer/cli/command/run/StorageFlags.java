package dev.zlayer.cli.command.run;

import dev.zlayer.cli.Session;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import picocli.CommandLine.Option;

/** What is mounted. */
final class StorageFlags {
  @Option(
      names = {"-v", "--volume"},
      paramLabel = "[SOURCE:]PATH[:ro]",
      description = "Mount a named volume or a host path: [NAME|PATH:]TARGET[:OPTIONS]")
  List<String> volumes = List.of();

  @Option(
      names = "--mount",
      paramLabel = "KEY=VALUE,...",
      description = "type=bind|volume|tmpfs,source=...,target=...[,readonly]")
  List<String> mounts = List.of();

  @Option(
      names = "--tmpfs",
      paramLabel = "PATH[:size=64m,mode=1777]",
      description = "Mount a tmpfs")
  List<String> tmpfs = List.of();

  void into(Json.Builder body, Session session) {
    var storage = new ArrayList<Json>();
    volumes.forEach(volume -> storage.add(volume(session, volume)));
    mounts.forEach(mount -> storage.add(mount(session, mount)));
    tmpfs.forEach(memory -> storage.add(memory(memory)));
    if (!storage.isEmpty()) {
      body.put("storage", storage);
    }
  }

  private static Json volume(Session session, String text) {
    String[] parts = text.split(":", 3);
    if (parts.length == 1) {
      return Json.object().put("type", "anonymous").put("target", parts[0]).build();
    }
    boolean readonly = false;
    if (parts.length == 3) {
      for (String option : parts[2].split(",", -1)) {
        readonly =
            switch (option) {
              case "ro" -> true;
              case "rw" -> false;
              default ->
                  throw new AgentException.Unsupported(
                      "--volume '%s': the option '%s', write ro or rw".formatted(text, option));
            };
      }
    }
    return place(session, parts[0], parts[1], readonly);
  }

  /** A path begins with a slash or a dot; everything else is the name of a volume. */
  private static Json place(Session session, String source, String target, boolean readonly) {
    boolean path = source.startsWith("/") || source.startsWith(".");
    return path
        ? bind(session, source, target, readonly)
        : Json.object()
            .put("type", "named")
            .put("name", source)
            .put("target", target)
            .put("readonly", readonly)
            .build();
  }

  private static Json bind(Session session, String source, String target, boolean readonly) {
    return Json.object()
        .put("type", "bind")
        .put("source", session.resolve(source).toAbsolutePath().normalize().toString())
        .put("target", target)
        .put("readonly", readonly)
        .build();
  }

  private static Json mount(Session session, String text) {
    Map<String, String> keys = new LinkedHashMap<>();
    for (String part : text.split(",", -1)) {
      String[] pair = part.split("=", 2);
      keys.put(
          switch (pair[0]) {
            case "src" -> "source";
            case "dst", "destination" -> "target";
            case "ro" -> "readonly";
            default -> pair[0];
          },
          pair.length == 2 ? pair[1] : "true");
    }
    keys.keySet().stream()
        .filter(
            key ->
                !List.of("type", "source", "target", "readonly", "tmpfs-size", "tmpfs-mode")
                    .contains(key))
        .findFirst()
        .ifPresent(
            key -> {
              throw new AgentException.Unsupported(
                  "--mount '%s': the key '%s', write type, source, target or readonly"
                      .formatted(text, key));
            });
    String target = keys.get("target");
    if (target == null) {
      throw new AgentException.InvalidSpec("--mount '" + text + "' has no target=");
    }
    boolean readonly = "true".equals(keys.get("readonly")) || "1".equals(keys.get("readonly"));
    String source = keys.getOrDefault("source", "");
    return switch (keys.getOrDefault("type", "volume")) {
      case "bind" -> bind(session, source, target, readonly);
      case "volume" ->
          source.isEmpty()
              ? Json.object().put("type", "anonymous").put("target", target).build()
              : place(session, source, target, readonly);
      case "tmpfs" ->
          memory(
              target,
              Optional.ofNullable(keys.get("tmpfs-size")),
              Optional.ofNullable(keys.get("tmpfs-mode")));
      default ->
          throw new AgentException.InvalidSpec(
              "--mount '%s': the type is bind, volume or tmpfs".formatted(text));
    };
  }

  private static Json memory(String text) {
    String[] parts = text.split(":", 2);
    Optional<String> size = Optional.empty();
    Optional<String> mode = Optional.empty();
    for (String option : parts.length == 2 ? parts[1].split(",", -1) : new String[0]) {
      if (option.startsWith("size=")) {
        size = Optional.of(option.substring("size=".length()));
      } else if (option.startsWith("mode=")) {
        mode = Optional.of(option.substring("mode=".length()));
      } else if (!Arrays.asList("rw", "noexec", "nosuid", "nodev").contains(option)) {
        throw new AgentException.Unsupported(
            "--tmpfs '%s': the option '%s', write size= or mode=".formatted(text, option));
      }
    }
    return memory(parts[0], size, mode);
  }

  private static Json memory(String target, Optional<String> size, Optional<String> mode) {
    return Json.object()
        .put("type", "tmpfs")
        .put("target", target)
        .putIf("size", size.map(text -> DockerSize.parse("--tmpfs", text) + "B"))
        .putIf("mode", mode.map(text -> Integer.parseInt(text, 8)))
        .build();
  }
}
