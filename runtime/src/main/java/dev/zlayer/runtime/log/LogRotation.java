package dev.zlayer.runtime.log;

import dev.zlayer.host.file.DirectoryWatch;
import dev.zlayer.host.file.DirectoryWatchLoop;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.util.List;

/**
 * Keeps the logs of all running containers settled. It sleeps until conmon renames a file, so
 * containers cost nothing here however much they write.
 */
public final class LogRotation implements AutoCloseable {
  private final DirectoryWatch loop;

  /** Told about new files by somebody who is closed with it. */
  public LogRotation(DirectoryWatch loop) {
    this.loop = loop;
  }

  /** Starts the thread; {@code anywhere} is a path of the file system the logs are on. */
  public static LogRotation open(Path anywhere) throws IOException {
    return new LogRotation(
        DirectoryWatchLoop.open(
            "log-rotation", anywhere, List.of(StandardWatchEventKinds.ENTRY_CREATE)));
  }

  /**
   * From now on old generations of these files are kept as specified; also for a container that was
   * started by an earlier process of the agent. To be closed when the container has ended.
   */
  public DirectoryWatchLoop.Registration keep(LogFiles files) throws IOException {
    DirectoryWatchLoop.Registration registration =
        loop.watch(files.directory(), () -> settle(files));
    settle(files);
    return registration;
  }

  private void settle(LogFiles files) {
    try {
      files.settle();
    } catch (NoSuchFileException _) {
      // the container is being removed, or it rotated once more and we are called again
    } catch (IOException e) {
      throw new UncheckedIOException("cannot rotate the log in " + files.directory(), e);
    }
  }

  @Override
  public void close() throws IOException {
    loop.close();
  }
}
