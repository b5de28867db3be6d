package dev.zlayer.host.file;

import java.io.IOException;
import java.nio.file.Path;

/** Tells that something may have changed in a directory; whoever is told looks. */
public interface DirectoryWatch extends AutoCloseable {
  /** From the return on, every change in the directory leads to a call of the listener. */
  DirectoryWatchLoop.Registration watch(Path directory, Runnable listener) throws IOException;

  @Override
  void close() throws IOException;
}
