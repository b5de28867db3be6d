package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.deploy.ClusterState.Place;
import dev.zlayer.cluster.deploy.Desired.Assignment;
import dev.zlayer.cluster.deploy.Desired.Report;
import dev.zlayer.depend.DependencyCheck;
import dev.zlayer.depend.DependencyStatus;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.service.DependsSpec;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * Whether a service of a cluster may begin, or a job run for those who wait for it, given what all
 * nodes report of those it depends on. The rules are those of a single node. Pure.
 */
public final class Dependencies {
  private final ClusterState state;
  private final Desired desired;
  private final DeploymentSpec spec;

  private Dependencies(ClusterState state, Desired desired, DeploymentSpec spec) {
    this.state = state;
    this.desired = desired;
    this.spec = spec;
  }

  static Dependencies of(ClusterState state, Desired desired, DeploymentSpec spec) {
    return new Dependencies(state, desired, spec);
  }

  /** What a service that has not begun waits for, as it is shown. */
  public static Optional<String> waitsFor(
      ClusterState state, Desired desired, DeploymentSpec spec, String service) {
    return of(state, desired, spec).judge(service, Instant.EPOCH)
            instanceof DependencyCheck.Verdict.Waiting(String what, _)
        ? Optional.of(what)
        : Optional.empty();
  }

  /** Waiting counts from the last request that changed the deployment. */
  DependencyCheck.Verdict judge(String name, Instant now) {
    ServiceSpec waiting = spec.services().get(name);
    return waiting == null || waiting.lifecycle().depends().isEmpty()
        ? new DependencyCheck.Verdict.Open(List.of())
        : DependencyCheck.judge(
            desired.name() + "/" + name,
            waiting.lifecycle().depends(),
            statuses(waiting, now),
            0,
            desired.updated(),
            now);
  }

  /** Jobs of a deployment for which others wait. */
  static Set<String> awaitedJobs(DeploymentSpec spec) {
    var awaited = new TreeSet<String>();
    for (ServiceSpec service : spec.services().values()) {
      for (DependsSpec depends : service.lifecycle().depends()) {
        ServiceSpec other = spec.services().get(depends.service());
        if (other != null && other.rtype() == RunType.JOB) {
          awaited.add(depends.service());
        }
      }
    }
    return awaited;
  }

  private Map<String, DependencyStatus> statuses(ServiceSpec waiting, Instant now) {
    var statuses = new HashMap<String, DependencyStatus>();
    for (DependsSpec depends : waiting.lifecycle().depends()) {
      ServiceSpec other = spec.services().get(depends.service());
      if (other != null && other.rtype() == RunType.SERVICE) {
        statuses.put(depends.service(), status(depends.service(), other));
      } else if (other != null) {
        statuses.put(depends.service(), job(depends.service(), other, now));
      }
    }
    return statuses;
  }

  /** One that completed before is waited for as long as what it needed is not there. */
  private DependencyStatus job(String name, ServiceSpec job, Instant now) {
    String hash = DependencyRun.hash(job);
    Optional<DependencyRun> run = state.dependency(desired.name(), name);
    DependencyCheck.Verdict gate = judge(name, now);
    if (run.filter(one -> one.completed(hash)).isPresent()) {
      return gate instanceof DependencyCheck.Verdict.Open
          ? DependencyStatus.completed(0)
          : DependencyStatus.nothing(0);
    }
    if (run.filter(one -> one.about(hash) && one.open()).isPresent()) {
      return DependencyStatus.started(0);
    }
    Optional<String> failed =
        run.filter(one -> one.stays(hash, desired.revision()))
            .flatMap(DependencyRun::failed)
            .or(
                () ->
                    gate instanceof DependencyCheck.Verdict.Closed(var reason)
                        ? Optional.of(String.valueOf(reason.getMessage()))
                        : Optional.empty());
    return failed
        .map(reason -> DependencyStatus.failed(0, reason))
        .orElseGet(() -> DependencyStatus.nothing(0));
  }

  private DependencyStatus status(String name, ServiceSpec service) {
    int wanted = ClusterPlan.replicas(desired, name, service);
    int ready = state.ready(desired.name(), name);
    int started = 0;
    Optional<String> failed =
        desired.stopped().contains(name) ? Optional.of("it is stopped") : Optional.empty();
    for (Map.Entry<String, Assignment> one : state.assignments(desired.name()).entrySet()) {
      Optional<Report> report =
          Optional.ofNullable(state.reports().get(new Place(one.getKey(), desired.name())))
              .filter(known -> one.getValue().count(name) > 0 && known.about(one.getValue()));
      Optional<Desired.ServiceReport> own = report.flatMap(known -> known.service(name));
      started += own.flatMap(Desired.ServiceReport::started).orElse(0);
      failed =
          failed.or(
              () ->
                  own.filter(known -> known.failed() && known.refused().isEmpty())
                      .map(known -> known.error().orElse("it failed")));
    }
    int needed = Math.max(1, wanted - service.lifecycle().update().unavailable());
    boolean healthy = wanted > 0 && ready >= needed;
    return new DependencyStatus(
        0,
        wanted > 0 && Math.max(started, ready) >= wanted,
        healthy,
        healthy,
        false,
        healthy ? Optional.empty() : failed,
        0,
        Optional.empty(),
        false);
  }
}
