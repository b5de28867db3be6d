package dev.zlayer.port;

import java.util.Map;

/** A container whose process can be made before it is wanted, so that starting it is one write. */
public interface Preparable {
  /**
   * Makes the process, which waits before its first instruction: nothing of the user runs. It
   * publishes no ports yet. Blocks until it is made; does nothing when it is prepared already.
   *
   * @throws dev.zlayer.error.AgentException.Conflict it has been started before
   * @throws dev.zlayer.error.AgentException.StartFailed it could not be made; nothing of it is left
   */
  void prepare() throws InterruptedException;

  /**
   * Gives it to whoever is about to start it, with further labels, which are seen at once and
   * written with the start.
   *
   * @return false when it is not prepared, or a file of the host that it has mounted is another one
   *     by now: then it must not be started
   */
  boolean claim(Map<String, String> labels);

  /** Adds labels, written now: those of a claim whose start was interrupted by a crash. */
  void label(Map<String, String> labels);
}
