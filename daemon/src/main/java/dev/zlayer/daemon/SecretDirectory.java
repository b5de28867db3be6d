package dev.zlayer.daemon;

import dev.zlayer.container.Mount;
import dev.zlayer.engine.secret.SecretFiles;
import dev.zlayer.engine.secret.SecretKey;
import dev.zlayer.engine.translate.SecretMounts;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.spec.security.SecretFileSpec;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * Where secrets lie as files while the agent runs. They stay for the containers that mount them;
 * when none does, the memory is given back at the end.
 */
final class SecretDirectory implements SecretMounts, AutoCloseable {
  private final SecretFiles files;
  private final Path directory;
  private final ContainerRuntime runtime;

  private SecretDirectory(SecretFiles files, Path directory, ContainerRuntime runtime) {
    this.files = files;
    this.directory = directory;
    this.runtime = runtime;
  }

  /** Forgets what no container mounts any more. */
  static SecretDirectory open(Path directory, SecretKey key, ContainerRuntime runtime) {
    var place = new SecretDirectory(SecretFiles.open(directory, key), directory, runtime);
    List<Path> _ = place.files.prune(place.mounts());
    return place;
  }

  @Override
  public Mount file(SecretFileSpec file, String value) {
    return files.file(file, value);
  }

  private List<Mount> mounts() {
    return runtime.list().stream()
        .flatMap(container -> container.spec().fileSystem().mounts().stream())
        .toList();
  }

  private boolean lent() {
    return mounts().stream()
        .anyMatch(
            mount ->
                mount instanceof Mount.Bind(Path source, var _, var _, var _)
                    && source.startsWith(directory));
  }

  @Override
  public void close() {
    try {
      if (!lent()) {
        files.destroy();
      }
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "the secret files in %s cannot be removed: %s".formatted(directory, e.getMessage()), e);
    }
  }
}
