package dev.zlayer.spec.service;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Named;
import java.util.List;
import java.util.Optional;

/** When containers come, go, and come back. */
public record LifecycleSpec(
    @Doc(
            "Run one replica at most, and in a cluster never two at a time, also when a node is"
                + " lost: it is stopped when its node has lost the cluster for 20s, and starts"
                + " elsewhere 35s after (default: false).")
        Optional<Boolean> singleInstance,
    @Doc("Number of replicas.") @Default("{mode: adaptive}") ScaleSpec scale,
    @Doc("Replicas of different roles; their counts decide instead of scale.")
        List<ReplicaGroup> replicaGroups,
    @Doc("Dependencies.") List<DependsSpec> depends,
    @Doc(
            "Health check. Without it a replica with endpoints is healthy when the first one "
                + "accepts connections, any other when it runs.")
        Optional<HealthSpec> health,
    @Doc("Steps that run before the main process starts.") @Default("{}") InitSpec init,
    @Doc("Error handling.") @Default("{}") ErrorsSpec errors,
    @Doc("When to restart; without it errors.on_panic decides.")
        Optional<RestartPolicySpec> restartPolicy,
    @Doc("How a change is rolled out.") @Default("{}") UpdateSpec update,
    @Named("lifecycle") @Doc("What happens after the exit.") @Default("{}") ExitSpec exit) {
  /** Whether there is one replica at most, on all nodes together. */
  public boolean single() {
    return singleInstance.orElse(false);
  }

  /** The same with another number of replicas. */
  public LifecycleSpec with(ScaleSpec other) {
    return new LifecycleSpec(
        singleInstance,
        other,
        replicaGroups,
        depends,
        health,
        init,
        errors,
        restartPolicy,
        update,
        exit);
  }

  /** The same, waiting for nobody. */
  public LifecycleSpec withoutDepends() {
    return new LifecycleSpec(
        singleInstance,
        scale,
        replicaGroups,
        List.of(),
        health,
        init,
        errors,
        restartPolicy,
        update,
        exit);
  }

  /** The same with other replicas of its roles. */
  public LifecycleSpec with(List<ReplicaGroup> groups) {
    return new LifecycleSpec(
        singleInstance, scale, groups, depends, health, init, errors, restartPolicy, update, exit);
  }

  /** Without what chooses a node. */
  public LifecycleSpec placed() {
    return with(replicaGroups.stream().map(ReplicaGroup::placed).toList());
  }

  /** Replicas to begin with: those of all groups, or what the scale says when there are none. */
  public int initialReplicas() {
    return replicaGroups.isEmpty()
        ? scale.initial()
        : replicaGroups.stream().mapToInt(ReplicaGroup::count).sum();
  }
}
