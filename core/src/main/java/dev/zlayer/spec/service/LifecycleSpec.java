package dev.zlayer.spec.service;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Named;
import java.util.List;
import java.util.Optional;

/** When containers come, go, and come back. */
public record LifecycleSpec(
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
  /** The same with another number of replicas. */
  public LifecycleSpec with(ScaleSpec other) {
    return new LifecycleSpec(
        other, replicaGroups, depends, health, init, errors, restartPolicy, update, exit);
  }

  /** The same, waiting for nobody. */
  public LifecycleSpec withoutDepends() {
    return new LifecycleSpec(
        scale, replicaGroups, List.of(), health, init, errors, restartPolicy, update, exit);
  }

  /** Replicas to begin with: those of all groups, or what the scale says when there are none. */
  public int initialReplicas() {
    return replicaGroups.isEmpty()
        ? scale.initial()
        : replicaGroups.stream().mapToInt(ReplicaGroup::count).sum();
  }
}
