package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.ClusterStore.Condition;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.time.Duration;
import java.util.List;

/**
 * One try of a change that its maker tries again. What was handed to a leader that was lost then is
 * never answered, so it is waited for shortly only: a new leader is there sooner.
 */
final class RetriedChange {
  private static final Duration LIMIT = Duration.ofSeconds(3);
  private static final Duration PAUSE = Duration.ofMillis(100);

  private final ClusterStore store;

  RetriedChange(ClusterStore store) {
    this.store = store;
  }

  /**
   * Whether it was made. When not, a condition did not hold, or nobody answered: then it may have
   * been made nevertheless, or be made later, so conditions have to keep it from being made twice,
   * and whoever tries again has to read whether it was made.
   */
  boolean made(List<Condition> conditions, List<Change> changes, Deadline deadline)
      throws InterruptedException {
    try {
      return store.transact(conditions, changes, deadline.atMost(LIMIT)).applied();
    } catch (AgentException.Network | AgentException.Timeout e) {
      if (deadline.left().compareTo(PAUSE) <= 0) {
        throw e;
      }
      Pauses.REAL.pause(PAUSE);
      return false;
    }
  }
}
