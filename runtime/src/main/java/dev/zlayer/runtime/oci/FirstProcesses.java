package dev.zlayer.runtime.oci;

import dev.zlayer.host.linux.PidFd;
import dev.zlayer.host.linux.ProcessIdentity;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Handles to the first processes of containers, to ask the kernel how they ended. Monitors note an
 * exit code of 137 and a death of SIGKILL as the same number; the kernel knows better, but it only
 * tells those who had a handle before the end.
 */
final class FirstProcesses implements AutoCloseable {
  private final Map<String, PidFd> handles = new ConcurrentHashMap<>();

  /** From now on the end of this process is kept; it is no loss when that fails. */
  void watch(String container, ProcessIdentity process) {
    try {
      Optional<PidFd> handle = process.open();
      if (handle.isPresent()) {
        close(handles.put(container, handle.get()));
      }
    } catch (IOException _) {
      close(handles.remove(container));
    }
  }

  /** How it ended, as {@code wait} would tell it; can be asked once. */
  OptionalInt waitStatus(String container) {
    PidFd handle = handles.remove(container);
    if (handle == null) {
      return OptionalInt.empty();
    }
    try (handle) {
      return handle.waitStatus();
    }
  }

  @Override
  public void close() {
    handles.values().forEach(PidFd::close);
    handles.clear();
  }

  private static void close(@org.jspecify.annotations.Nullable PidFd handle) {
    if (handle != null) {
      handle.close();
    }
  }
}
