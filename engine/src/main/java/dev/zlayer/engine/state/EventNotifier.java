package dev.zlayer.engine.state;

import dev.zlayer.task.Deadline;
import java.util.concurrent.TimeUnit;

/** Wakes whoever waits for events; knows the number of the last one. */
final class EventNotifier {
  private long last;

  EventNotifier(long last) {
    this.last = last;
  }

  synchronized long last() {
    return last;
  }

  synchronized void ring(long sequence) {
    last = Math.max(last, sequence);
    notifyAll();
  }

  synchronized boolean await(long since, Deadline deadline) throws InterruptedException {
    while (last <= since && !deadline.passed()) {
      long millis = TimeUnit.NANOSECONDS.toMillis(deadline.leftNanos());
      wait(Math.max(1, millis));
    }
    return last > since;
  }
}
