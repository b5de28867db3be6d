package dev.zlayer.host.http;

/** Whether to wait on for one that was silent for a while. */
@FunctionalInterface
public interface Patience {
  /** Silence is the end. */
  Patience NONE = () -> false;

  boolean waits() throws InterruptedException;
}
