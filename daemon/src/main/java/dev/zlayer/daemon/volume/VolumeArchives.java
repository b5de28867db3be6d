package dev.zlayer.daemon.volume;

import dev.zlayer.engine.volume.VolumeInfo;
import dev.zlayer.engine.volume.VolumeStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.runtime.observe.DirectoryArchive;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Backs volumes up and restores them. */
public final class VolumeArchives {
  private final VolumeStore volumes;
  private final VolumeUsers users;
  private final Set<String> restoring = ConcurrentHashMap.newKeySet();

  public VolumeArchives(VolumeStore volumes, VolumeUsers users) {
    this.volumes = volumes;
    this.users = users;
  }

  /** Says before the first byte what would keep a backup from being made. */
  public void requireBackup(String name, Optional<VolumeUsers.Quiesce> how) {
    Path _ = volumes.find(name).path();
    users.require(name, how);
  }

  /** Writes a tar archive of a volume while nobody writes to it. */
  public void backup(String name, Optional<VolumeUsers.Quiesce> how, OutputStream tar)
      throws IOException, InterruptedException {
    Path directory = volumes.find(name).path();
    if (how.isPresent()) {
      users.quiesced(name, how.get(), () -> DirectoryArchive.write(directory, tar));
    } else {
      DirectoryArchive.write(directory, tar);
    }
  }

  /**
   * Makes a volume from an archive. It appears whole or not at all.
   *
   * @param replace what is in it now is lost; otherwise it has to be empty
   * @throws AgentException.Conflict a container that runs mounts it, or it is not empty
   */
  public VolumeInfo restore(String name, boolean replace, InputStream tar)
      throws IOException, InterruptedException {
    requireUnused(name);
    volumes.requireRestorable(name, replace);
    if (!restoring.add(name)) {
      throw new AgentException.Conflict(
          "volume '%s' is being restored by another request; try again when that is done"
              .formatted(name));
    }
    try {
      DirectoryArchive.read(volumes.beginRestore(name), tar);
      requireUnused(name);
      return volumes.finishRestore(name, replace);
    } finally {
      volumes.abandonRestore(name);
      restoring.remove(name);
    }
  }

  private void requireUnused(String name) {
    List<Container> running = users.of(name);
    if (!running.isEmpty()) {
      throw new AgentException.Conflict(
          "volume '%s' is used by %s: stop them first".formatted(name, VolumeUsers.names(running)));
    }
  }
}
