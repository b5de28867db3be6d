package dev.zlayer.engine.secret;

import dev.zlayer.container.Mount;
import dev.zlayer.engine.translate.SecretMounts;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Mounts;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.spec.security.SecretFileSpec;
import dev.zlayer.task.KeyedLock;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * Secrets as files in memory, mounted read-only into containers. The directory is entered by the
 * agent alone; a file's name is its content's fingerprint, so a changed secret is another mount and
 * rolls its users, and a file is never changed under a container that reads it.
 */
public final class SecretFiles implements SecretMounts {
  private static final String MEMORY = "tmpfs";
  private static final int USUAL_MODE = 0444;
  private static final String NEW = ".new";

  private final Path directory;
  private final SecretCipher names;
  private final KeyedLock<String> locks = new KeyedLock<>();

  private SecretFiles(Path directory, SecretCipher names) {
    this.directory = directory;
    this.names = names;
  }

  /**
   * Mounts memory on the directory unless it lies in memory already.
   *
   * @throws AgentException.Configuration it does not, and nothing can be mounted
   */
  public static SecretFiles open(Path directory, SecretKey key) {
    try {
      Files.createDirectories(directory);
      if (!Files.getFileStore(directory).type().equals(MEMORY)) {
        Mounts.tmpfs(directory, "mode=0700,size=64m");
      }
      Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx------"));
      return new SecretFiles(directory, new SecretCipher(key));
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "secrets cannot be kept in memory at %s: %s; run the agent as root or give a directory on"
                  .formatted(directory, e.getMessage())
              + " tmpfs",
          e);
    }
  }

  @Override
  public Mount file(SecretFileSpec file, String value) {
    byte[] content = value.getBytes(StandardCharsets.UTF_8);
    int mode = file.mode().orElse(USUAL_MODE);
    String name = names.fingerprint("file %o".formatted(mode), content);
    Path path = directory.resolve(name);
    try (var _ = locks.lock(name)) {
      if (!Files.exists(path)) {
        Path fresh = directory.resolve(name + NEW);
        Files.deleteIfExists(fresh);
        Files.write(fresh, content);
        Files.setPosixFilePermissions(fresh, permissions(mode));
        Files.move(fresh, path, StandardCopyOption.ATOMIC_MOVE);
      }
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "a secret cannot be written to %s: %s".formatted(directory, e.getMessage()), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AgentException.Internal("interrupted while a secret was written", e);
    }
    return new Mount.Bind(path, file.path(), true);
  }

  /** Removes the files that are none of these mounts; call it with those of all containers. */
  public List<Path> prune(Collection<Mount> used) {
    Set<Path> kept =
        Set.copyOf(
            used.stream()
                .filter(Mount.Bind.class::isInstance)
                .map(mount -> ((Mount.Bind) mount).source())
                .distinct()
                .toList());
    var removed = new ArrayList<Path>();
    try (var files = Files.list(directory)) {
      for (Path file : files.filter(file -> !kept.contains(file)).toList()) {
        Files.deleteIfExists(file);
        removed.add(file);
      }
      return removed;
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "secret files in %s cannot be removed: %s".formatted(directory, e.getMessage()), e);
    }
  }

  /** Takes everything away, the mount too; no container may use it any more. */
  public void destroy() throws IOException {
    if (Mounts.mounted(directory)) {
      Mounts.unmount(directory);
    }
    RootedDirectory.removeTree(directory);
  }

  private static Set<PosixFilePermission> permissions(int mode) {
    Set<PosixFilePermission> set = EnumSet.noneOf(PosixFilePermission.class);
    PosixFilePermission[] fromHighest = PosixFilePermission.values();
    for (int bit = 0; bit < fromHighest.length; bit++) {
      if ((mode & (0400 >> bit)) != 0) {
        set.add(fromHighest[bit]);
      }
    }
    return set;
  }
}
