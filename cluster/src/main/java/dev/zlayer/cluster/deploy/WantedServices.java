package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.schedule.Workload;
import dev.zlayer.cluster.schedule.Workloads;
import dev.zlayer.depend.DependencyCheck;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.RunType;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * The replicas of services that are wanted now, and why others do not begin. Pure.
 *
 * @param withJobs deployments with jobs: each node has them, so that it can run one at once
 * @param unread deployments whose file cannot be read: they stay as they are
 * @param closed why services do not begin, by deployment and name
 * @param warnings what was not waited for any longer
 * @param again when waiting ends, which no change of the state says
 */
record WantedServices(
    List<Workload> workloads,
    Set<String> withJobs,
    Set<String> unread,
    Map<String, Map<String, String>> closed,
    List<String> warnings,
    Optional<Instant> again) {
  static WantedServices of(
      ClusterState state, ClusterPlan.Files files, Targets targets, Instant now) {
    return new Maker(state, targets, now).make(files);
  }

  /** All of them in the making. */
  private static final class Maker {
    private final ClusterState state;
    private final Targets targets;
    private final Instant now;
    private final List<Workload> workloads = new ArrayList<>();
    private final Set<String> withJobs = new HashSet<>();
    private final Set<String> unread = new HashSet<>();
    private final Map<String, Map<String, String>> closed = new TreeMap<>();
    private final List<String> warnings = new ArrayList<>();
    private Optional<Instant> again = Optional.empty();

    Maker(ClusterState state, Targets targets, Instant now) {
      this.state = state;
      this.targets = targets;
      this.now = now;
    }

    WantedServices make(ClusterPlan.Files files) {
      for (Desired desired : state.desired().values()) {
        Optional<DeploymentSpec> spec = files.find(desired.name(), desired.revision());
        if (spec.isEmpty()) {
          unread.add(desired.name());
        } else if (desired.removing().isEmpty()) {
          add(desired, spec.get());
        }
      }
      return new WantedServices(workloads, withJobs, unread, closed, warnings, again);
    }

    private void add(Desired desired, DeploymentSpec spec) {
      if (spec.services().values().stream().anyMatch(one -> one.rtype() != RunType.SERVICE)) {
        withJobs.add(desired.name());
      }
      for (String job : Dependencies.awaitedJobs(spec)) {
        if (Dependencies.of(state, desired, spec).judge(job, now)
            instanceof DependencyCheck.Verdict.Waiting(_, Instant until)) {
          awaken(until);
        }
      }
      for (PlacedGroup group : PlacedGroup.of(spec).values()) {
        if (begun(desired.name(), group.service()) || mayBegin(desired, spec, group.service())) {
          workloads.add(workload(desired, group));
        }
      }
    }

    private boolean begun(String deployment, String service) {
      return state.assignments(deployment).values().stream()
          .anyMatch(one -> one.count(service) > 0);
    }

    private boolean mayBegin(Desired desired, DeploymentSpec spec, String service) {
      if (ClusterPlan.replicas(
              desired, service, Objects.requireNonNull(spec.services().get(service)))
          == 0) {
        return true; // it has none to begin with
      }
      return switch (Dependencies.of(state, desired, spec).judge(service, now)) {
        case DependencyCheck.Verdict.Open(var texts) -> {
          texts.forEach(text -> warnings.add(desired.name() + "/" + service + " " + text));
          yield true;
        }
        case DependencyCheck.Verdict.Waiting(_, Instant until) -> {
          awaken(until);
          yield false;
        }
        case DependencyCheck.Verdict.Closed(var reason) -> {
          closed
              .computeIfAbsent(desired.name(), _ -> new TreeMap<>())
              .put(service, String.valueOf(reason.getMessage()));
          yield false;
        }
      };
    }

    private void awaken(Instant at) {
      again = again.filter(at::isAfter).or(() -> Optional.of(at));
    }

    private Workload workload(Desired desired, PlacedGroup group) {
      return Workloads.of(
          targets.group(desired.name(), group.key(), group.service()),
          group.service(),
          group.spec(),
          group.role(),
          List.of(),
          Long.toString(desired.revision()),
          group.replicas(desired),
          group.spec().lifecycle().single());
    }
  }
}
