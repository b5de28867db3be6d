package dev.zlayer.daemon.standalone;

import dev.zlayer.container.Outcome;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.port.Pausable;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Threads;
import java.time.Duration;

/** Work on a container whose processes must not run meanwhile. */
public final class WhilePaused {
  private static final Duration END_LIMIT = Duration.ofSeconds(1);

  private WhilePaused() {}

  /** What is done meanwhile. */
  @FunctionalInterface
  public interface Work<T> {
    T run() throws InterruptedException;
  }

  /** The container continues however the work ends, also when its client has left. */
  public static <T> T run(Pausable container, Work<T> work) throws InterruptedException {
    try {
      pause(container);
      return work.run();
    } finally {
      Threads.complete(() -> resume(container));
    }
  }

  /** One that ends at this moment needs no pause. */
  private static void pause(Pausable container) throws InterruptedException {
    try {
      container.pause();
    } catch (AgentException e) {
      if (!ends(container)) {
        throw e;
      }
    }
  }

  /** The runtime knows of an end before we do. */
  private static boolean ends(Pausable pausable) throws InterruptedException {
    if (!(pausable instanceof Container container)) {
      return false;
    }
    try {
      Outcome _ = container.await(WaitCondition.NOT_RUNNING, Deadline.after(END_LIMIT));
      return true;
    } catch (AgentException _) {
      return false;
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
