package dev.zlayer.runtime.lifecycle;

import dev.zlayer.container.LogSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.ErrnoException;
import dev.zlayer.host.linux.Mounts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Memory for the output of a container that does not keep it on disk: a tmpfs of its own, which
 * stays when the agent ends and is lost when the host restarts.
 */
public final class MemoryLogs {
  /** Readers can hold files that rotation has deleted; a full file system would lose output. */
  private static final int SPARE = 4;

  private MemoryLogs() {}

  /** Mounts it, unless it is mounted or the output is kept on disk. */
  public static void mount(RecordedState<?> state) throws IOException {
    LogSpec spec = state.record().spec().logs();
    if (!spec.inMemory()) {
      return;
    }
    Path place = state.directory().memoryLogs();
    if (!place.getFileSystem().supportedFileAttributeViews().contains("posix")) {
      throw new AgentException.Unsupported(
          "logs in memory: this host has no tmpfs; write logs.destination: disk");
    }
    Files.createDirectories(place);
    if (!Mounts.mounted(place)) {
      long bytes = Math.multiplyExact(spec.maxFileBytes(), (long) SPARE * spec.files());
      Mounts.tmpfs(place, "mode=0700,size=" + bytes);
      if (state.record().run() > 0) {
        state.logs().beginAfterLoss();
      }
    }
  }

  /** Absent is fine, and what the record says does not matter: it may be damaged. */
  public static void unmount(RecordedState<?> state) throws ErrnoException {
    while (Mounts.mounted(state.directory().memoryLogs())) {
      Mounts.detach(state.directory().memoryLogs());
    }
  }
}
