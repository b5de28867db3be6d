package dev.zlayer.runtime.oci;

import dev.zlayer.container.SecuritySpec;
import dev.zlayer.host.linux.ErrnoException;
import dev.zlayer.host.linux.Mounts;
import dev.zlayer.runtime.lifecycle.ContainerState;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * What containers see as /dev/shm. It is mounted on the host, because a mount made inside a
 * container cannot be shown in another one that shares its ipc namespace.
 */
final class SharedMemory {
  private static final Path HOST = Path.of("/dev/shm");
  private static final String OPTIONS = "mode=1777,size=64m";

  private final OciContext context;

  SharedMemory(OciContext context) {
    this.context = context;
  }

  /** The place on the host that this container sees. */
  Path of(ContainerState state) {
    return switch (state.record().spec().security().ipc()) {
      case SecuritySpec.Namespace.Private _ -> state.directory().sharedMemory();
      case SecuritySpec.Namespace.Host _ -> HOST;
      case SecuritySpec.Namespace.Shared(var with) -> of(Bundles.Others.state(context, with));
    };
  }

  /** Mounts the container's own, unless it is mounted or it has none. */
  static void mount(ContainerState state) throws IOException {
    if (state.record().spec().security().ipc() instanceof SecuritySpec.Namespace.Private) {
      Path place = state.directory().sharedMemory();
      Files.createDirectories(place);
      if (!Mounts.mounted(place)) {
        String owner =
            state.record().ids().map(ids -> ",uid=%1$d,gid=%1$d".formatted(ids.first())).orElse("");
        Mounts.tmpfs(place, OPTIONS + owner);
      }
    }
  }

  /** Absent is fine. */
  static void unmount(ContainerState state) throws ErrnoException {
    while (Mounts.mounted(state.directory().sharedMemory())) {
      Mounts.detach(state.directory().sharedMemory());
    }
  }
}
