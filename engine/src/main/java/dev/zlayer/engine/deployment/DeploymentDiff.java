package dev.zlayer.engine.deployment;

import java.util.List;

/** What a file would change, compared with what is wanted now. */
public record DeploymentDiff(String deployment, List<ServiceChange> changes) {
  public DeploymentDiff {
    changes = List.copyOf(changes);
  }

  public enum Action {
    CREATE,
    UPDATE,
    REMOVE,
    KEEP
  }

  /**
   * One service, job or schedule.
   *
   * @param fields keys of the file that differ, as written there: {@code image}, {@code env}
   * @param replaces whether its containers are replaced; other changes take effect in place
   * @param replicasNow wanted at present
   * @param replicasThen wanted afterwards
   */
  public record ServiceChange(
      String service,
      Action action,
      List<String> fields,
      boolean replaces,
      int replicasNow,
      int replicasThen) {
    public ServiceChange {
      fields = List.copyOf(fields);
    }
  }

  public boolean empty() {
    return changes.stream().allMatch(change -> change.action() == Action.KEEP);
  }
}
