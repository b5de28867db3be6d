package dev.zlayer.daemon.rest.cluster;

import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.time.Duration;

/**
 * Reads for those who wait for something that continues without etcd: an election of its leader, or
 * a majority that is away for a while, is no reason to end their wait.
 */
final class PatientRead {
  private static final Duration STEP = Duration.ofMillis(200);

  private PatientRead() {}

  /** A reading of the cluster's state, with a limit of its own. */
  @FunctionalInterface
  interface Read<T> {
    T read() throws InterruptedException;
  }

  /**
   * Reads until the cluster answers.
   *
   * @param what is waited for
   * @param deadline after which another reading is not begun
   */
  static <T> T read(String what, Deadline deadline, Pauses pauses, Read<T> read)
      throws InterruptedException {
    while (true) {
      try {
        return read.read();
      } catch (AgentException.Network | AgentException.Timeout e) {
        if (deadline.passed()) {
          throw new AgentException.Unavailable(
              "what became of %s is unknown: the cluster has not answered for %d seconds (%s); ask again when 'zlayer cluster status' shows that it does"
                  .formatted(what, deadline.limit().toSeconds(), e.getMessage()));
        }
      }
      pauses.pause(STEP);
    }
  }
}
