package dev.zlayer.engine.deployment;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.engine.deployment.DeploymentStatus.Dependency;
import dev.zlayer.engine.deployment.DeploymentStatus.JobStatus;
import dev.zlayer.engine.deployment.DeploymentStatus.State;
import dev.zlayer.engine.deployment.WaitResult.Blocker;
import dev.zlayer.engine.job.Execution;
import dev.zlayer.engine.job.JobDefinition;
import dev.zlayer.engine.job.JobKey;
import dev.zlayer.engine.service.Failure;
import dev.zlayer.engine.service.ServiceRunner;
import dev.zlayer.engine.service.ServiceState;
import dev.zlayer.engine.service.ServiceStatus;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.service.DependsSpec;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What a deployment looks like to people, and whether that is the end of waiting. */
final class StatusView {
  private final DeploymentParts parts;
  private final Map<ServiceKey, AutoUpdateStatus> updates;

  StatusView(DeploymentParts parts, Map<ServiceKey, AutoUpdateStatus> updates) {
    this.parts = parts;
    this.updates = updates;
  }

  DeploymentStatus of(LiveDeployment live) {
    DeploymentRecord record = live.record();
    List<ServiceStatus> services =
        live.services().values().stream()
            .map(ServiceRunner::status)
            .sorted(Comparator.comparing(ServiceStatus::key))
            .toList();
    List<JobStatus> jobs =
        live.spec().stream()
            .flatMap(spec -> DeploymentStore.jobs(spec).stream())
            .map(job -> job(live, job))
            .sorted(Comparator.comparing(JobStatus::key))
            .toList();
    Optional<Failure> problem =
        live.delay()
            .map(LiveDeployment.RemovalDelay::reason)
            .or(() -> live.problem().map(error -> Failure.of(error, record.updatedAt())));
    return new DeploymentStatus(
        record.name(),
        state(record, services, missing(live, services), jobs, problem),
        record.revision(),
        record.createdAt(),
        record.updatedAt(),
        live.directory(),
        live.share(),
        services,
        jobs,
        problem,
        updates.entrySet().stream()
            .filter(entry -> entry.getKey().deployment().equals(record.name()))
            .collect(Collectors.toMap(entry -> entry.getKey().service(), Map.Entry::getValue)),
        live.spec().map(StatusView::dependencies).orElse(List.of()));
  }

  /** In the order of the names; a job that needs another one waits for its end. */
  private static List<Dependency> dependencies(DeploymentSpec spec) {
    var found = new ArrayList<Dependency>();
    new TreeMap<>(spec.services())
        .forEach(
            (name, service) ->
                service
                    .lifecycle()
                    .depends()
                    .forEach(
                        one -> found.add(new Dependency(name, one.service(), one.condition()))));
    for (JobDefinition job : DeploymentStore.jobs(spec)) {
      job.job()
          .needs()
          .forEach(
              other ->
                  found.add(
                      new Dependency(job.key().name(), other, DependsSpec.Condition.COMPLETED)));
    }
    return found;
  }

  /** Whether the file names a service that has no loop at the moment. */
  private static boolean missing(LiveDeployment live, List<ServiceStatus> services) {
    Set<String> known =
        services.stream().map(service -> service.key().service()).collect(Collectors.toSet());
    return live.spec().stream()
        .flatMap(spec -> spec.services().entrySet().stream())
        .filter(entry -> entry.getValue().rtype() == RunType.SERVICE)
        .anyMatch(entry -> !known.contains(entry.getKey()));
  }

  private JobStatus job(LiveDeployment live, JobDefinition job) {
    JobKey key = job.key();
    Optional<Execution> last = parts.jobs().list(key).stream().reduce((_, later) -> later);
    Optional<DependencyJob.View> gate =
        Optional.ofNullable(live.gates().get(key.name())).map(DependencyJob.Handle::view);
    return new JobStatus(
        key,
        parts.cron().find(key),
        last,
        gate.flatMap(DependencyJob.View::waitingFor),
        gate.flatMap(DependencyJob.View::lastError));
  }

  private static State state(
      DeploymentRecord record,
      List<ServiceStatus> services,
      boolean missing,
      List<JobStatus> jobs,
      Optional<Failure> problem) {
    if (record.removing()) {
      return State.REMOVING;
    }
    boolean failed =
        problem.isPresent()
            || services.stream()
                .map(ServiceStatus::state)
                .anyMatch(state -> state == ServiceState.FAILED || state == ServiceState.CRASH_LOOP)
            || jobs.stream().anyMatch(job -> job.lastError().isPresent());
    if (failed) {
      return State.FAILED;
    }
    boolean moving =
        missing
            || jobs.stream().anyMatch(job -> job.waitingFor().isPresent())
            || services.stream()
                .anyMatch(
                    service ->
                        switch (service.state()) {
                          case WAITING, DEPLOYING, REMOVING -> true;
                          case RUNNING, DEGRADED, CRASH_LOOP, FAILED, IDLE, STOPPED -> false;
                        });
    if (moving) {
      return State.DEPLOYING;
    }
    boolean wrong =
        services.stream()
            .anyMatch(
                service ->
                    service.state() == ServiceState.DEGRADED || rolledBack(service).isPresent());
    return wrong ? State.DEGRADED : State.RUNNING;
  }

  private static Optional<Failure> rolledBack(ServiceStatus service) {
    return service.rollout().flatMap(rollout -> rollout.reason());
  }

  /** The end of waiting, if this is it. */
  static Optional<WaitResult> settled(LiveDeployment live, DeploymentStatus status) {
    if (status.state() == State.REMOVING) {
      return live.delay()
          .filter(LiveDeployment.RemovalDelay::stuck)
          .map(delay -> new Blocker(Optional.empty(), delay.reason()))
          .map(blocker -> WaitResult.of(WaitResult.Outcome.FAILED, status, Optional.of(blocker)));
    }
    Optional<Blocker> blocker =
        status
            .problem()
            .map(problem -> new Blocker(Optional.empty(), problem))
            .or(() -> status.jobs().stream().flatMap(StatusView::failure).findFirst())
            .or(() -> status.services().stream().flatMap(StatusView::failure).findFirst());
    if (blocker.isPresent()) {
      return Optional.of(WaitResult.of(WaitResult.Outcome.FAILED, status, blocker));
    }
    boolean reached =
        status.state() == State.RUNNING
            && status.services().stream()
                .allMatch(
                    service -> service.revision() == status.revision() && !service.settling());
    return reached
        ? Optional.of(WaitResult.of(WaitResult.Outcome.STABLE, status, Optional.empty()))
        : Optional.empty();
  }

  private static Stream<Blocker> failure(JobStatus job) {
    return job.lastError().stream()
        .map(failure -> new Blocker(Optional.of(job.key().name()), failure));
  }

  private static Stream<Blocker> failure(ServiceStatus service) {
    boolean failed =
        service.state() == ServiceState.FAILED || service.state() == ServiceState.CRASH_LOOP;
    Optional<Failure> reason =
        failed ? service.lastError() : rolledBack(service).or(service::endpointError);
    return reason.stream().map(failure -> blocker(service, failure));
  }

  private static Blocker blocker(ServiceStatus service, Failure failure) {
    return new Blocker(Optional.of(service.key().service()), failure);
  }

  /** What was still missing when the time was over. */
  static Optional<Blocker> missing(DeploymentStatus status) {
    return status.services().stream()
        .filter(service -> service.state() != ServiceState.RUNNING)
        .flatMap(service -> service.lastError().stream().map(error -> blocker(service, error)))
        .findFirst()
        .or(() -> status.problem().map(problem -> new Blocker(Optional.empty(), problem)));
  }
}
