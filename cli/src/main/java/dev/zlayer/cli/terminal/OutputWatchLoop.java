package dev.zlayer.cli.terminal;

import dev.zlayer.host.linux.PipeReader;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Notices that nobody reads standard output any more while there is nothing to write. Waiting for
 * that cannot be interrupted, so the thread is one that does not keep the process alive.
 */
final class OutputWatchLoop {
  private static final int STANDARD_OUTPUT = 1;

  private OutputWatchLoop() {}

  static Terminal.Undo start(Runnable closed) {
    var wanted = new AtomicBoolean(true);
    Thread.ofPlatform()
        .daemon()
        .name("output-watch")
        .start(
            () -> {
              try {
                PipeReader.awaitClosed(STANDARD_OUTPUT);
              } catch (IOException _) {
                return; // then only writing shows it
              }
              if (wanted.getAndSet(false)) {
                closed.run();
              }
            });
    return () -> wanted.set(false);
  }
}
