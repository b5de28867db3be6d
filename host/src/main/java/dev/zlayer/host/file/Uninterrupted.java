package dev.zlayer.host.file;

import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;

/** Short work on files that an interrupt must not leave half done. */
final class Uninterrupted {
  /** Done again from its beginning when it was disturbed. */
  @FunctionalInterface
  interface Step {
    void run() throws IOException;
  }

  private Uninterrupted() {}

  /** Channels close under a thread that is interrupted; then the step is done again. */
  static void run(Step step) throws IOException {
    boolean interrupted = Thread.interrupted();
    try {
      boolean done = false;
      while (!done) {
        try {
          step.run();
          done = true;
        } catch (ClosedByInterruptException _) {
          interrupted |= Thread.interrupted();
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
