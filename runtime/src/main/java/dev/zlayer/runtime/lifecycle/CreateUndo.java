package dev.zlayer.runtime.lifecycle;

import dev.zlayer.error.AgentException;
import dev.zlayer.task.Threads;
import java.io.IOException;

/** Takes away what was made when the rest cannot be; what resists is tried at the next start. */
public final class CreateUndo {
  private CreateUndo() {}

  /** Makes or removes a part of a container; a removal may be run again after an interrupt. */
  @FunctionalInterface
  public interface Step {
    void run() throws IOException, InterruptedException;
  }

  /** Makes a container, or nothing of it. */
  public static void make(ContainerState state, Step make, Step dismantle)
      throws InterruptedException {
    try {
      make.run();
    } catch (IOException e) {
      throw undo(
          new AgentException.CreateFailed(
              state.record().id().toString(), String.valueOf(e.getMessage()), e),
          dismantle);
    } catch (InterruptedException e) {
      throw undo(e, dismantle);
    } catch (RuntimeException e) {
      throw undo(e, dismantle);
    }
  }

  /** Undoes whether or not somebody interrupts, and hands the failure on. */
  public static <E extends Exception> E undo(E failure, Step step) {
    try {
      Threads.<IOException>complete(step::run);
    } catch (IOException | RuntimeException e) {
      failure.addSuppressed(e);
    }
    return failure;
  }
}
