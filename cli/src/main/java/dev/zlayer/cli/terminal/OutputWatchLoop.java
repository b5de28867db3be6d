package dev.zlayer.cli.terminal;

import dev.zlayer.host.linux.PipeReader;
import dev.zlayer.host.linux.Terminals;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Notices that nobody reads standard output any more while there is nothing to write. Waiting for
 * that cannot be interrupted, so the thread is one that does not keep the process alive.
 */
final class OutputWatchLoop {
  private static final int STANDARD_OUTPUT = 1;

  /** A command that ends sooner is spared the first native call, which takes longer than it. */
  private static final Duration GRACE = Duration.ofSeconds(1);

  private OutputWatchLoop() {}

  static Terminal.Undo start(Runnable closed) {
    var wanted = new AtomicBoolean(true);
    var ended = new CountDownLatch(1);
    Thread.ofPlatform()
        .daemon()
        .name("output-watch")
        .start(
            () -> {
              try {
                if (ended.await(GRACE.toMillis(), TimeUnit.MILLISECONDS)) {
                  return;
                }
                if (Terminals.isWithoutReader(STANDARD_OUTPUT)) {
                  return; // a terminal that ends sends a signal
                }
                PipeReader.awaitClosed(STANDARD_OUTPUT);
              } catch (IOException | InterruptedException _) {
                return; // then only writing shows it
              }
              if (wanted.getAndSet(false)) {
                closed.run();
              }
            });
    return () -> {
      wanted.set(false);
      ended.countDown();
    };
  }
}
