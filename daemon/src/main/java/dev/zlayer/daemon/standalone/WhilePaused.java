package dev.zlayer.daemon.standalone;

import dev.zlayer.error.AgentException;
import dev.zlayer.port.Pausable;
import dev.zlayer.task.Threads;

/** Work on a container whose processes must not run meanwhile. */
public final class WhilePaused {
  private WhilePaused() {}

  /** What is done meanwhile. */
  @FunctionalInterface
  public interface Work<T> {
    T run() throws InterruptedException;
  }

  /** The container continues however the work ends, also when its client has left. */
  public static <T> T run(Pausable container, Work<T> work) throws InterruptedException {
    try {
      container.pause();
      return work.run();
    } finally {
      Threads.complete(() -> resume(container));
    }
  }

  private static void resume(Pausable container) throws InterruptedException {
    try {
      container.unpause();
    } catch (AgentException.NotFound _) {
      // removed meanwhile
    }
  }
}
