package dev.zlayer.runtime.oci;

import dev.zlayer.container.Mount;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Which files and directories of the host a prepared container has mounted. Somebody may put
 * another file in the place of one before the container is started; a container that is made then
 * would see the new one, and one that is made already never does.
 */
final class MountedFiles {
  private final Path volumes;
  private final Map<String, Map<Path, Optional<Object>>> known = new ConcurrentHashMap<>();

  MountedFiles(Path volumes) {
    this.volumes = volumes;
  }

  /** Remembers what is there now; call it before anything is mounted. */
  void note(String container, List<Mount> mounts) {
    var keys = new HashMap<Path, Optional<Object>>();
    for (Mount mount : mounts) {
      switch (mount) {
        case Mount.Bind(var source, _, _, _) -> keys.put(source, key(source));
        case Mount.Named(var name, _, _, _) -> {
          Path volume = volumes.resolve(name);
          keys.put(volume, key(volume));
        }
        case Mount.Anonymous _, Mount.Supplied _, Mount.Tmpfs _ -> {}
      }
    }
    known.put(container, Map.copyOf(keys));
  }

  /** Whether all that was remembered is still the same. */
  boolean unchanged(String container) {
    Map<Path, Optional<Object>> before = known.get(container);
    return before != null
        && before.entrySet().stream()
            .allMatch(
                entry ->
                    entry.getValue().isPresent() && entry.getValue().equals(key(entry.getKey())));
  }

  void forget(String container) {
    known.remove(container);
  }

  /** Device and number of the file; nothing when it cannot be told, which equals nothing. */
  private static Optional<Object> key(Path path) {
    try {
      return Optional.ofNullable(Files.readAttributes(path, BasicFileAttributes.class).fileKey());
    } catch (IOException _) {
      return Optional.empty();
    }
  }
}
