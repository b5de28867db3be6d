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
 * restored afterwards, and a step that an interrupt ends early is run again. Every step is tried;
 * the failures of undoing are attached to each other as suppressed, and by try-with-resources to
 * the failure that caused it all. Owned by one thread.
 */
public final class Rollback implements AutoCloseable {
  /** One undo step; may fail, and may be run again after an interrupt. */
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
    IllegalStateException failure = null;
    while (!steps.isEmpty()) {
      Step step = steps.pop();
      try {
        Threads.<Exception>complete(step.undo()::run);
      } catch (Exception e) {
        var failed = new IllegalStateException("could not undo: " + step.name(), e);
        if (failure == null) {
          failure = failed;
        } else {
          failure.addSuppressed(failed);
        }
      }
    }
    if (failure != null) {
      throw failure;
    }
  }
}
