package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.deploy.ClusterState.Place;
import dev.zlayer.cluster.member.NodeRecord;
import dev.zlayer.cluster.schedule.ClusterView;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Which executions get a node next, and which end without a node saying so. Pure. */
final class JobPlan {
  private static final Comparator<ClusterExecution> TURN =
      Comparator.comparingInt((ClusterExecution one) -> -one.request().priority())
          .thenComparing(ClusterExecution::created)
          .thenComparing(JobPlan::job)
          .thenComparingLong(ClusterExecution::number);

  private JobPlan() {}

  /** How executions ended that are not in the state any more. */
  @FunctionalInterface
  interface Ends {
    /** Empty when it has not ended. */
    Optional<ClusterExecution.Progress> find(String deployment, ClusterExecution.Need need);
  }

  /** What the newest file says about its job. */
  static Optional<ServiceSpec> spec(
      ClusterState state, ClusterPlan.Files files, ClusterExecution execution) {
    return Optional.ofNullable(state.desired().get(execution.deployment()))
        .flatMap(desired -> files.find(desired.name(), desired.revision()))
        .flatMap(spec -> Optional.ofNullable(spec.services().get(execution.job())))
        .filter(service -> service.rtype() != RunType.SERVICE);
  }

  /** Those whose turn it is; the limit of a job holds for all nodes together. */
  static List<ClusterExecution> waiting(ClusterState state, ClusterPlan.Files files, Ends ends) {
    Map<String, Integer> placed = new HashMap<>();
    Map<String, Long> oldest = new HashMap<>();
    for (ClusterExecution one : state.executions().values()) {
      placed.merge(job(one), one.node().isPresent() ? 1 : 0, Integer::sum);
      oldest.merge(job(one), one.number(), Math::min);
    }
    var waiting = new ArrayList<ClusterExecution>();
    for (ClusterExecution one : state.executions().values().stream().sorted(TURN).toList()) {
      Desired desired = state.desired().get(one.deployment());
      boolean first = !one.after() || oldest.getOrDefault(job(one), 0L) == one.number();
      Optional<ServiceSpec> spec = spec(state, files, one);
      if (desired != null
          && desired.removing().isEmpty()
          && one.node().isEmpty()
          && !one.cancelled()
          && first
          && one.needs().stream().allMatch(need -> completed(state, ends, one, need))
          && spec.isPresent()
          && placed.getOrDefault(job(one), 0) < concurrency(spec.get())) {
        placed.merge(job(one), 1, Integer::sum);
        waiting.add(one);
      }
    }
    return waiting;
  }

  private static Optional<ClusterExecution.Progress> end(
      ClusterState state, Ends ends, ClusterExecution one, ClusterExecution.Need need) {
    return state.executions().containsKey(need.live(one.deployment()))
        ? Optional.empty()
        : ends.find(one.deployment(), need);
  }

  private static boolean completed(
      ClusterState state, Ends ends, ClusterExecution one, ClusterExecution.Need need) {
    return end(state, ends, one, need)
        .filter(progress -> progress.status().equals(ClusterExecution.COMPLETED))
        .isPresent();
  }

  /** Why what it needs will never be there. */
  private static Optional<String> hopeless(ClusterState state, Ends ends, ClusterExecution one) {
    return one.needs().stream()
        .flatMap(
            need ->
                end(state, ends, one, need)
                    .filter(progress -> !progress.status().equals(ClusterExecution.COMPLETED))
                    .map(
                        progress ->
                            "needs job '%s/%s', which %s"
                                .formatted(one.deployment(), need.job(), progress.text()))
                    .stream())
        .findFirst();
  }

  private static int concurrency(ServiceSpec spec) {
    return ClusterClaim.exclusive(spec) ? 1 : spec.job().concurrency();
  }

  private static String job(ClusterExecution one) {
    return one.deployment() + "/" + one.job();
  }

  /**
   * Nodes that cannot run it: those that were lost with it, whose containers may run on, and those
   * that have not applied the newest file.
   */
  static List<ClusterView.Refusal> refusals(ClusterState state, ClusterExecution execution) {
    var refusals = new ArrayList<ClusterView.Refusal>();
    Desired desired = state.desired().get(execution.deployment());
    for (NodeRecord node : state.members().values()) {
      refusal(state, execution, node.id())
          .ifPresent(
              reason ->
                  refusals.add(
                      new ClusterView.Refusal(
                          execution.workload(),
                          desired == null ? "" : Long.toString(desired.revision()),
                          node.id(),
                          ClusterPlan.facts(state, node).revision(),
                          reason)));
    }
    return refusals;
  }

  private static Optional<String> refusal(
      ClusterState state, ClusterExecution execution, String node) {
    if (execution.lost().contains(node)) {
      return Optional.of("it was lost with it; add a node to the cluster");
    }
    if (execution.refused().containsKey(node)) {
      return Optional.ofNullable(execution.refused().get(node));
    }
    Desired desired = state.desired().get(execution.deployment());
    Optional<Desired.Report> report =
        Optional.ofNullable(state.reports().get(new Place(node, execution.deployment())))
            .filter(one -> desired != null && one.revision() == desired.revision());
    return report.isPresent()
        ? report.get().refused()
        : Optional.of("it has not applied the newest file yet");
  }

  /**
   * Executions as they are next, where no node says so.
   *
   * @param present nodes that are alive, or may be again in a moment
   */
  static List<ClusterExecution> next(
      ClusterState state, ClusterPlan.Files files, Set<String> present, Ends ends, Instant now) {
    var next = new ArrayList<ClusterExecution>();
    for (ClusterExecution one : state.executions().values()) {
      Optional<Desired> desired = Optional.ofNullable(state.desired().get(one.deployment()));
      boolean removing = desired.flatMap(Desired::removing).isPresent();
      Optional<String> gone = one.node().filter(node -> !present.contains(node));
      if (gone.isPresent() && state.claimed(one.deployment(), one.job(), gone.get())) {
        continue; // it may still run there
      }
      if (gone.isPresent()) {
        next.add(lost(state, files, one, removing, now));
      } else if (one.node().isEmpty() && (one.cancelled() || removing)) {
        next.add(one.ended(ClusterExecution.CANCELLED, Optional.empty(), now));
      } else if (removing && !one.cancelled()) {
        next.add(one.cancelling());
      } else if (one.node().isEmpty() && hopeless(state, ends, one).isPresent()) {
        next.add(one.ended(ClusterExecution.FAILED, hopeless(state, ends, one), now));
      } else if (one.node().isEmpty()
          && desired.flatMap(known -> files.find(known.name(), known.revision())).isPresent()
          && spec(state, files, one).isEmpty()) {
        next.add(
            one.ended(
                ClusterExecution.FAILED, Optional.of("its job is not in the file any more"), now));
      }
    }
    return next;
  }

  /** The loss of a node counts as an attempt that failed. */
  private static ClusterExecution lost(
      ClusterState state,
      ClusterPlan.Files files,
      ClusterExecution one,
      boolean removing,
      Instant now) {
    if (one.cancelled() || removing) {
      return one.ended(ClusterExecution.CANCELLED, Optional.empty(), now);
    }
    int retries = spec(state, files, one).map(spec -> spec.job().retries()).orElse(0);
    if (one.lost().size() < retries) {
      return one.again();
    }
    String node = one.node().orElse("");
    String name = Optional.ofNullable(state.members().get(node)).map(NodeRecord::name).orElse(node);
    return one.ended(
        ClusterExecution.LOST, Optional.of("node '%s' was lost with it".formatted(name)), now);
  }
}
