package dev.zlayer.task;

import java.time.Duration;

/** Lets time pass between two tries; a test passes it at once. */
@FunctionalInterface
public interface Pauses {
  Pauses REAL = Thread::sleep;

  void pause(Duration duration) throws InterruptedException;
}
