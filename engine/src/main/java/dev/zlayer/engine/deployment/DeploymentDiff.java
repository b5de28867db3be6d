package dev.zlayer.engine.deployment;

import dev.zlayer.spec.DeploymentSpec;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What a file would change, compared with what runs now. */
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
   * @param values of these keys, as the files write them
   * @param runs the revision that runs because a later one was rolled back
   * @param replicasNow wanted at present
   * @param replicasThen wanted afterwards
   */
  public record ServiceChange(
      String service,
      Action action,
      List<String> fields,
      List<ValueChange> values,
      Optional<Long> runs,
      boolean replaces,
      int replicasNow,
      int replicasThen) {
    public ServiceChange {
      fields = List.copyOf(fields);
      values = List.copyOf(values);
    }
  }

  /**
   * One value of a file.
   *
   * @param path below the service: {@code image.name}, {@code command[2]}
   * @param before empty when it is added
   * @param after empty when it is removed
   */
  public record ValueChange(String path, Optional<String> before, Optional<String> after) {}

  /** A file as it was parsed and as it is written. */
  public record Version(DeploymentSpec spec, String file) {}

  /** What changes from the newest file, if there is one, to another one. */
  public static DeploymentDiff between(Optional<Version> before, Version after) {
    return FileDiff.of(
        before.map(version -> new FileDiff.Side(version.spec(), version.file())),
        Map.of(),
        new FileDiff.Side(after.spec(), after.file()));
  }

  public boolean empty() {
    return changes.stream().allMatch(change -> change.action() == Action.KEEP);
  }
}
