package dev.zlayer.task;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Undoes what was half made, in reverse order, unless {@link #commit} was reached.
 *
 * <pre>{@code
 * try (var rollback = new Rollback()) {
 *   mount(dir);
 *   rollback.add("unmount " + dir, () -> unmount(dir));
 *   ...
 *   rollback.commit();
 * }
 * }</pre>
 *
 * <p>Undoing does not inherit cancellation: the interrupt flag is cleared while the steps run and
 * restored afterwards. Every step is tried; the failures of undoing are attached to each other as
 * suppressed, and by try-with-resources to the failure that caused it all. Owned by one thread.
 */
public final class Rollback implements AutoCloseable {
  /** One undo step; may fail. */
  @FunctionalInterface
  public interface Undo {
    void run() throws Exception;
  }

  private record Step(String name, Undo undo) {}

  private final Deque<Step> steps = new ArrayDeque<>();

  /** Registers how to undo what has just been done; {@code name} says it in the imperative. */
  public void add(String name, Undo undo) {
    steps.push(new Step(name, undo));
  }

  /** What was made stays. */
  public void commit() {
    steps.clear();
  }

  @Override
  public void close() {
    boolean interrupted = Thread.interrupted();
    IllegalStateException failure = null;
    while (!steps.isEmpty()) {
      Step step = steps.pop();
      try {
        step.undo().run();
      } catch (Exception e) {
        interrupted |= e instanceof InterruptedException;
        var failed = new IllegalStateException("could not undo: " + step.name(), e);
        if (failure == null) {
          failure = failed;
        } else {
          failure.addSuppressed(failed);
        }
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    if (failure != null) {
      throw failure;
    }
  }
}
