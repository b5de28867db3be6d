package dev.zlayer.cli.layers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/** The modules as they lie on disk, and which of them each may use. */
final class Modules {
  /** Allowed edges; a module that is not listed fails the test. */
  static final Map<String, Set<String>> MAY_USE =
      Map.ofEntries(
          Map.entry("core", Set.of()),
          Map.entry("host", Set.of("core")),
          Map.entry("image", Set.of("core", "host")),
          Map.entry("runtime", Set.of("core", "host", "image")),
          Map.entry("engine", Set.of("core", "host")),
          Map.entry("proxy", Set.of("core", "host")),
          Map.entry("cluster", Set.of("core", "host")),
          Map.entry(
              "daemon", Set.of("core", "host", "image", "runtime", "engine", "proxy", "cluster")),
          Map.entry("cli", Set.of("core", "host", "daemon")),
          Map.entry("testkit", Set.of("core", "host")),
          Map.entry(
              "bench",
              Set.of(
                  "core", "host", "image", "runtime", "engine", "proxy", "cluster", "daemon", "cli",
                  "testkit")));

  /** Never shipped, so they may do what production code may not. */
  static final Set<String> NOT_SHIPPED = Set.of("testkit", "bench");

  private Modules() {}

  /** The root of the project: the test runs in its module's directory. */
  static Path root() {
    return Path.of("").toAbsolutePath().getParent();
  }

  static List<String> names() {
    try (Stream<Path> directories = Files.list(root())) {
      return directories
          .filter(directory -> Files.exists(directory.resolve("pom.xml")))
          .map(directory -> directory.getFileName().toString())
          .sorted()
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static List<Path> files(String module, String below, String suffix) {
    Path start = root().resolve(module).resolve(below);
    if (!Files.isDirectory(start)) {
      return List.of();
    }
    try (Stream<Path> files = Files.walk(start)) {
      return files.filter(file -> file.toString().endsWith(suffix)).sorted().toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
